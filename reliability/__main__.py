"""Run the programme: ``python -m reliability --profile long --seed 7 --docs docs/reliability.md``.

``--parts security load`` runs parts alone and keeps the others of the report. ``--only`` repeats a case as the report
names it, such as ``--only "rows; LapSVC fit; X; NaN in a cell; 1234"``.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from dataclasses import replace
from pathlib import Path

from reliability.programme import PARTS, SCALES, repeat, run_part
from reliability.report import Report, page


def main() -> None:
    """Run the parts that are asked for, and fail if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", choices=SCALES, default="long")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="run these, and keep the others of the report")
    parser.add_argument("--seed", type=int, default=None, help="of the run; drawn if not given")
    parser.add_argument("--minutes", type=float, default=None, help="after which a part begins nothing more")
    parser.add_argument("--out", type=Path, default=Path("reliability.json"))
    parser.add_argument("--docs", type=Path, default=None, help="page to write")
    parser.add_argument("--only", metavar="CASE", help="repeat a case of the report")
    options = parser.parse_args()
    if options.only:
        print(repeat(options.only))
        return
    seed = secrets.randbits(32) if options.seed is None else options.seed
    scale = SCALES[options.profile]
    if options.minutes is not None:
        scale = replace(scale, minutes=dict.fromkeys(PARTS, options.minutes))
    limit = "" if options.minutes is None else f" --minutes {options.minutes:g}"
    report = Report(options.out, options.docs, keep=options.parts is not None)
    for part in options.parts or PARTS:
        report.begin(part, f'python -m reliability --profile {options.profile} --seed {seed}{limit} --parts "{part}"')
        for tally in run_part(part, scale, seed):
            report.note(tally)
        report.note(tally, ended=True)
    print(page(report.sections))
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
