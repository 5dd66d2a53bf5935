"""Rows on many machines: what workers compute is what one process computes, bit for bit."""

from rulekit.distributed.scoring import score as score
from rulekit.distributed.training import fit as fit
