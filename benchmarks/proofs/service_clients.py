"""Clients of the V2 protocol that others wrote, against the service: how many decisions differ, by client.

    python -m benchmarks.proofs.service_clients [--python PYTHON ...] [--rows 1000]

PYTHON belongs to an environment with `mlserver`, with `tritonclient[http]`, or with both. It runs this file too, which
needs nothing of rulekit there. Each client sends rows of every datatype that it knows, and what it decodes from the
answer must be what the rules decide: label, probabilities and the rules that fired. Missing numbers are sent where a
client can say so: null in the JSON of MLServer's codecs, not a number in binary tensors.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RULES = """rulekit rules 1
column amount: numeric, float64
column flag: boolean
column city: categorical {here, there, "à l’ouest"}
label granted: {no, yes}
default no
decide yes when any of (
  amount > 0.1 and flag,
  amount <= -5 and not flag,
  city in {there} and amount <= 7,
  amount is missing and city in {"à l’ouest"},
)
"""
WHOLE = {f"{sign.upper()}INT{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
FLOATS = {"FP16": "float16", "FP32": "float32", "FP64": "float64", "BF16": "bfloat16"}
OUTPUTS = ("label", "probabilities", "fired")
Columns = dict[str, Any]


# In the environment of a client ---------------------------------------------------------------------------------------


def columns_of(kind: str, rows: int, missing: bool) -> Columns:
    """Numbers of a datatype, at its bounds and those of the rules; truth values, and texts."""
    import numpy as np

    own = np.random.default_rng(rows)
    if kind in WHOLE:
        bounds = np.iinfo(WHOLE[kind])
        # beyond 2^53 the service refuses an integer, as `rulekit predict` does
        least, most = max(bounds.min, -(2**53)), min(bounds.max, 2**53)
        known: list[Any] = [each for each in (-6, -5, 0, 1, 7, 8, least, most) if each >= least]
        amounts = np.array(known, WHOLE[kind])
    else:
        if kind == "BF16":
            import ml_dtypes  # noqa: F401 - gives numpy this type
        known = [0.1, 0.1001, 0.0999, 0.0, -5.0, -5.01, 7.0, 7.01, 6e4, -6e4, *([np.nan] * missing)]
        amounts = np.array(known).astype(np.dtype(FLOATS[kind]))
    texts = np.array(["here", "there", "à l’ouest"], dtype=object)
    pick = partial(own.integers, 0, size=rows)
    return {"amount": amounts[pick(len(amounts))], "flag": pick(2) == 1, "city": texts[pick(3)]}


def _decoded(text: str) -> Columns:
    """The outputs of an answer as MLServer's codecs read them."""
    from mlserver.codecs import NumpyCodec, StringCodec
    from mlserver.types import InferenceResponse

    outputs = InferenceResponse.model_validate_json(text).outputs
    return {
        each.name: (StringCodec if each.datatype == "BYTES" else NumpyCodec).decode_output(each) for each in outputs
    }


def _frame(columns: Columns) -> str:
    from mlserver.codecs import PandasCodec
    from pandas import DataFrame

    frame = DataFrame(columns).astype({"city": object})  # the codec of 1.7.1 does not know the texts of pandas 3
    return str(PandasCodec.encode_request(frame).model_dump_json())


def _arrays(columns: Columns) -> str:
    from mlserver.codecs import NumpyCodec, StringCodec
    from mlserver.types import InferenceRequest

    inputs = [NumpyCodec.encode_input(name, columns[name]) for name in ("amount", "flag")]
    inputs.append(StringCodec.encode_input("city", columns["city"].tolist()))
    return str(InferenceRequest(inputs=inputs).model_dump_json())


def _posted(encode: Callable[[Columns], str], columns: Columns, kind: str, address: str, token: str) -> Columns:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://{address}/v2/models/m/infer", encode(columns).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return _decoded(answer.read().decode())


def _command(more: list[str], columns: Columns, kind: str, address: str, token: str) -> Columns:
    """By `mlserver infer`, which reads requests from a file and writes the answers to another."""
    from mlserver.cli.main import root

    with tempfile.TemporaryDirectory() as folder:
        sent, came = Path(folder) / "sent", Path(folder) / "came"
        sent.write_text(_frame(columns) + "\n")
        words = ["infer", "-u", address, "-m", "m", "-i", str(sent), "-o", str(came), "-r", "1", *more]
        root.main([*words, "-H", f"Authorization: Bearer {token}"], standalone_mode=False)
        return _decoded(came.read_text())


def _triton(binary: bool, columns: Columns, kind: str, address: str, token: str) -> Columns:
    import tritonclient.http as triton

    inputs = []
    for (name, cells), datatype in zip(columns.items(), (kind, "BOOL", "BYTES"), strict=True):
        inputs.append(triton.InferInput(name, [len(cells)], datatype))
        inputs[-1].set_data_from_numpy(cells, binary_data=binary)
    outputs = [triton.InferRequestedOutput(name, binary_data=binary) for name in OUTPUTS]
    with triton.InferenceServerClient(address) as client:
        answer = client.infer("m", inputs, outputs=outputs, headers={"Authorization": f"Bearer {token}"})
        return {name: answer.as_numpy(name) for name in OUTPUTS}


JSON_KINDS = (*WHOLE, "FP16", "FP32", "FP64")
WAYS: dict[str, tuple[Callable[..., Columns], tuple[str, ...], bool]] = {
    "mlserver: PandasCodec": (partial(_posted, _frame), JSON_KINDS, True),
    "mlserver: NumpyCodec, StringCodec": (partial(_posted, _arrays), JSON_KINDS, True),
    "mlserver infer": (partial(_command, []), JSON_KINDS, False),
    "mlserver infer -b": (partial(_command, ["-b"]), JSON_KINDS, True),
    "tritonclient: JSON": (partial(_triton, False), JSON_KINDS, False),
    "tritonclient: binary": (partial(_triton, True), (*JSON_KINDS, "BF16"), True),
}
"""By client how it sends, the datatypes of numbers that it knows, and whether it can say that one is missing."""


def client(address: str, token: str, rows: int) -> None:
    """Print a line of JSON for each client and datatype: what was sent, and what was decoded or went wrong."""
    for name, (send, kinds, missing) in WAYS.items():
        module = name.partition(":")[0].split()[0]
        if not find_spec(module):
            continue
        for kind in kinds:
            columns = columns_of(kind, rows, missing)
            said: dict[str, Any] = {"client": name, "version": f"{module} {version(module)}", "kind": kind}
            try:
                found = send(columns, kind, address, token)
                texts = [each.decode() if isinstance(each, bytes) else str(each) for each in found["label"]]
                said |= {"label": texts, **{each: found[each].tolist() for each in OUTPUTS[1:]}}
            except Exception as error:
                said["failed"] = f"{type(error).__name__}: {error}"[:200]
            sent = {each: cells.tolist() for each, cells in columns.items()}
            said["sent"] = {each: [None if cell != cell else cell for cell in cells] for each, cells in sent.items()}
            print(f"answer {json.dumps(said)}", flush=True)


# Beside the service ---------------------------------------------------------------------------------------------------


def judge(lines: list[str]) -> int:
    """Print for each client how many decisions are not those of the rules, and return how many; a failure is one."""
    import numpy as np

    from rulekit.graph.language.parsing import parse_graph
    from rulekit.graph.rules import fired

    graph = parse_graph(RULES)
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    versions = set()
    for said in (json.loads(line.removeprefix("answer ")) for line in lines if line.startswith("answer ")):
        counted, sent = seen[said["client"]], said["sent"]
        versions.add(said["version"])
        counted["datatypes"] += 1
        counted["rows"] += len(sent["amount"])
        counted["missing"] += sent["amount"].count(None)
        if "failed" in said:
            print(f"{said['client']}, {said['kind']}: {said['failed']}")
            counted["different"] += len(sent["amount"])
            continue
        wrong = np.array(said["label"]) != graph.predict(sent)
        wrong |= (np.abs(np.array(said["probabilities"]) - graph.predict_proba(sent)) > 1e-6).any(axis=1)
        wrong |= (np.array(said["fired"]) != fired(graph, graph.table(sent))).any(axis=1)
        counted["different"] += int(wrong.sum())
    for name, found in seen.items():
        print(
            f"{name}: {found['rows']:,} rows of {found['datatypes']} datatypes of numbers, of BOOL and BYTES, "
            f"{found['missing']} missing numbers, {found['different']} different decisions"
        )
    print(", ".join(sorted(versions)) or "no client is installed there: --python names an environment with one")
    return sum(found["different"] for found in seen.values())


def main() -> None:
    """Ask a service by all clients of the environments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="of an environment with clients; this one by default")
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--client", help=argparse.SUPPRESS)  # ADDRESS/TOKEN, in one: a token may begin with a dash
    options = parser.parse_args()
    if options.client:
        address, token = options.client.split("/")
        client(address, token, options.rows)
        return
    from rulekit_serve.settings import Settings

    from benchmarks.proofs.service_faults import Server, prepared

    with tempfile.TemporaryDirectory() as folder:
        own = prepared(Settings(Path(folder)), RULES)
        server = Server(own.settings)
        server.start()
        words = ["--rows", str(options.rows), "--client", f"127.0.0.1:{server.port}/{own.token}"]
        lines = []
        try:
            for python in options.python or [sys.executable]:
                run = [python, "-I", __file__, *words]  # -I: what this process imports is not seen there
                lines += subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        finally:
            server.kill()
    sys.exit(judge(lines) > 0)


if __name__ == "__main__":
    main()
