"""Made-up readings of pumps, and which pumps were stopped: at least three of five alarms, or too much strain.

Ten times the pressure in bar plus the temperature in degrees Celsius is the strain; a pump is stopped above 160. One
label in fifty is wrong, some readings are missing, and the last columns have nothing to do with it.
"""

from __future__ import annotations

import random

ALARMS = {"vibration": 0.35, "leak": 0.3, "low_oil": 0.4, "noise": 0.45, "hot_bearing": 0.3}
"""How often each alarm is on."""
UNRELATED = {"night_shift": 0.3, "new_seal": 0.5, "door_open": 0.2}
MAKERS = ("Ost", "Nord", "West")
NEEDED, MOST_STRAIN = 3, 160.0
WRONG, MISSING = 0.02, 0.03


def pumps(n_rows: int, seed: int) -> dict[str, list[object]]:
    """Columns of alarms, pressure, temperature, others, and `stopped`, of so many made-up readings; None is missing."""
    draw = random.Random(seed)
    names = (*ALARMS, "pressure", "temperature", "speed", *UNRELATED, "maker", "stopped")
    columns: dict[str, list[object]] = {name: [] for name in names}
    for _ in range(n_rows):
        alarms = {name: draw.random() < share for name, share in ALARMS.items()}
        pressure = round(2.0 + 10.0 * draw.random() ** 1.5, 1)
        temperature = round(30.0 + 70.0 * draw.random())
        stopped = sum(alarms.values()) >= NEEDED or 10.0 * pressure + temperature > MOST_STRAIN
        if draw.random() < WRONG:
            stopped = not stopped
        row: dict[str, object] = {
            **alarms,
            "pressure": pressure,
            "temperature": temperature,
            "speed": 600 + 10 * int(240 * draw.random()),
            **{name: draw.random() < share for name, share in UNRELATED.items()},
            "maker": MAKERS[int(len(MAKERS) * draw.random())],
        }
        for name in ("leak", "temperature"):
            if draw.random() < MISSING:
                row[name] = None
        for name, value in {**row, "stopped": "yes" if stopped else "no"}.items():
            columns[name].append(value)
    return columns
