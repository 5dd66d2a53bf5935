"""What a runtime cannot do, with its reason: the one table that tests and documentation are made from.

A gap that is not declared here fails the matrix; so does one that is declared and no longer there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Gap:
    """A feature that a runtime lacks.

    feature: of a model (`cases.features_of`) or of a row (`cases.VALUES`). says: part of what the runtime says when it
    refuses such a model, as it must for each of them; "" where it takes the model and decides some row otherwise, as it
    must for one of them at least. Rows with such a value are left out of what is compared, and so are models that it
    decides otherwise. processor: instructions, as Linux names them, without which a processor need not show the gap.
    """

    runtime: str
    feature: str
    reason: str
    says: str = ""
    processor: str = ""

    @property
    def must_show(self) -> bool:
        """Whether a case has to show the gap on this machine."""
        return not self.processor or self.processor in _instructions()


@cache
def _instructions() -> frozenset[str]:
    """What the processor of this machine knows beyond its first instructions; nothing where Linux does not say."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    return frozenset(word for line in lines if line.startswith("flags") for word in line.split())


_C_TEXT = "the JavaScript binding passes texts as C strings, which end at a NUL: `a\\0` is read as `a`"
_NO_SUBNORMAL = "numbers nearer to zero than 1.18e-38 are taken as zero"
_LOW_BITS = "of a code the low 32 bits are taken: -9223372036854775808, which is no code, is read as 0, missing"
_NO_BOUND = f"{_NO_SUBNORMAL}, and so is the bound above a threshold of 0: `x <= 0` is false at 0"

GAPS = (
    Gap("node", "NUL in a text", _C_TEXT),
    Gap("web", "NUL in a text", _C_TEXT),
    Gap("browser", "NUL in a text", _C_TEXT),
    Gap(
        "openvino",
        "NaN",
        "`NaN > t` is computed as not (`NaN <= t`), true, by the AVX-512 kernels; those of AVX2 decide it right",
        processor="avx512bw",
    ),
    Gap("openvino", "doubles", "the processor's plugin computes doubles in float32"),
    Gap("openvino", "subnormal bound", _NO_BOUND),
    Gap("openvino", "LabelEncoder", "no operator of ai.onnx.ml, so no text input", "LabelEncoder"),
    Gap("openvino", "TreeEnsembleClassifier", "no operator of ai.onnx.ml", "TreeEnsembleClassifier"),
    Gap("opencv", "TreeEnsembleClassifier", "no operator of ai.onnx.ml", "TreeEnsembleClassifier"),
    Gap("opencv", "text input", "no tensors of text", "unsupported datatype 'STRING'"),
    Gap("opencv", "text label", "no tensors of text", "unsupported datatype 'STRING'"),
    Gap(
        "opencv", "ScatterElements", "shapes that do not lie within one another are refused: no ids of words", "Scatter"
    ),
    Gap("opencv", "double input", "it is read as float32"),
    Gap("opencv", "Gemm of doubles", "not implemented", "only support float32"),
    Gap("opencv", "MatMul of a vector", "only matrices are multiplied", "MatMul"),
    Gap("opencv", "subnormal", _NO_SUBNORMAL),
    Gap("opencv", "subnormal bound", _NO_BOUND),
    Gap("tract", "text input", "no tensors of text", "no tensors of text"),
    Gap("tract", "text label", "texts cannot be read from its public interface", "String"),
    Gap("tract", "Gemm of doubles", "its factors are taken for float32", "accessed as F64"),
    Gap("tract", "IsNaN of doubles", "its type is inferred as a double", "Bool"),
    Gap("openvino", "code beyond 32 bits", _LOW_BITS),
    Gap("opencv", "code beyond 32 bits", _LOW_BITS),
)
