"""Run cases in one Python runtime: `python run_cases.py RUNTIME CASES ANSWERS NAME...`; needs numpy and the runtime.

Runs in environments of its own, some of them with old packages, so it imports nothing of rulekit but `exchange`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from exchange import Array, read_case, write_answer, write_error

# feeds of one chunk -> label [n], probabilities [n, K]
Session = Callable[[dict[str, Array]], tuple[Any, Any]]
DEVICE = "CPU"


def onnxruntime_session(model: Path, described: dict[str, Any]) -> Session:
    """Microsoft's runtime, one thread."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    return lambda feeds: tuple(session.run(None, feeds)[:2])


def reference_session(model: Path, described: dict[str, Any]) -> Session:
    """The evaluator of the ONNX specification."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(model))
    return lambda feeds: tuple(evaluator.run(None, feeds)[:2])


def openvino_session(model: Path, described: dict[str, Any]) -> Session:
    """Intel's runtime, in float32 as the model says: by itself it may compute in 16 bits."""
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = openvino.Core().compile_model(openvino.Core().read_model(str(model)), DEVICE, settings)

    def run(feeds: dict[str, Array]) -> tuple[Any, Any]:
        found = compiled([feeds[item["name"]] for item in described["inputs"]])
        return found[compiled.output(0)], found[compiled.output(1)]

    return run


def opencv_session(model: Path, described: dict[str, Any]) -> Session:
    """The dnn module of OpenCV 5."""
    import cv2

    network = cv2.dnn.readNetFromONNX(str(model))
    names = network.getUnconnectedOutLayersNames()

    def run(feeds: dict[str, Array]) -> tuple[Any, Any]:
        for name, array in feeds.items():
            network.setInput(np.ascontiguousarray(array), name)
        labels, probabilities = network.forward(list(names))[:2]
        return labels, probabilities

    return run


def tract_session(model: Path, described: dict[str, Any]) -> Session:
    """Sonos' runtime in Rust."""
    import tract

    short = {"float32": "f32", "float64": "f64", "int64": "i64"}
    found = tract.onnx().load(str(model))
    for k, item in enumerate(described["inputs"]):
        if item["type"] == "text":
            raise ValueError("tract has no tensors of text")
        found.set_input_fact(k, f"N,{item['columns']},{short[item['type']]}")
    runnable = found.into_model().into_runnable()

    def run(feeds: dict[str, Array]) -> tuple[Any, Any]:
        arrays = [np.ascontiguousarray(feeds[item["name"]]) for item in described["inputs"]]
        labels, probabilities = runnable.run(arrays)[:2]
        return labels.to_numpy(), probabilities.to_numpy()

    return run


SESSIONS = {
    "onnxruntime": onnxruntime_session,
    "reference": reference_session,
    "openvino": openvino_session,
    "opencv": opencv_session,
    "tract": tract_session,
}


def run_case(runtime: str, case: Path, answer: Path) -> None:
    """Answer one case, with an error where the runtime refuses the model or stops."""
    described, feeds = read_case(case)
    labels, probabilities, start = [], [], 0
    try:
        session = SESSIONS[runtime](case / "model.onnx", described)
        for rows in described["chunks"]:
            fed = {name: array[start : start + rows] for name, array in feeds.items()}
            label, shares = session(fed)
            if np.shape(label)[0] != rows or np.shape(shares)[0] != rows:
                raise ValueError(f"{np.shape(label)} labels and {np.shape(shares)} probabilities of {rows} rows")
            labels.append(np.array(label).reshape(rows))
            probabilities.append(np.array(shares))
            start += rows
        write_answer(answer, np.concatenate(labels), np.concatenate(probabilities))
    except Exception as error:  # whatever a runtime raises is its answer
        write_error(answer, f"{type(error).__name__}: {error}")


def main(arguments: list[str]) -> None:
    """Answer the named cases one after the other."""
    runtime, cases, answers, *names = arguments
    with np.errstate(all="ignore"):
        for name in names:
            run_case(runtime, Path(cases, name), Path(answers, name))


if __name__ == "__main__":
    main(sys.argv[1:])
