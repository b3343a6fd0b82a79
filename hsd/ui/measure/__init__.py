"""The Measure screen: a benchmark from a file, or a small one made here, as a table, charts and files.

Whatever is shown is a `hsd.bench.report.Benchmark`: recorded, opened or just measured by `hsd.bench.measure`, so that
the page, `python -m hsd bench` and its files give the same numbers. batch.py checks what a visitor asks for, job.py
runs it, opened.py checks a file, view.py says what the page shows, screen.py connects it all.
The script uses the player's `dom.js` and `export.js` and the frame's tabs, so both must come first in the page.
"""

from hsd.ui.measure.screen import Measure

__all__ = ["Measure"]
