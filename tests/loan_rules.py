"""Rules on the columns of made loans, as an expert writes them: with a level and bounds that no row has."""

from __future__ import annotations

RULES = """rulekit rules 1
column purpose: categorical {gambling, "space flight"}
column amount: numeric, integer
column late_payments: numeric
column homeowner: boolean
label "default": {no, yes}
default no
decide yes when any of (
  purpose in {gambling, "space flight"},
  amount > 8123.5 and late_payments > 1.75 and not homeowner,
)
"""
