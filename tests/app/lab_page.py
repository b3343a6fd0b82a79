"""A page that holds nothing but the lab.

python tests/app/lab_page.py OUT.html      # a page to open by hand; ?lab=… works as in the app
"""

from __future__ import annotations

import sys
from pathlib import Path

from hsd.ui.static import read, script, style

PAGE = """<!doctype html><html lang="en" class="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>lab</title>
<style>body {{ margin: 0; padding: 16px; font-family: system-ui, sans-serif; background: #fff }}
.dark body {{ background: #0f1218 }} {style}</style><script>{script}</script></head>
<body><div id="one">{html}</div>
<script>window.lab = hsdLab.start(document.getElementById("one"))</script></body></html>"""


def page(dark: bool = False) -> str:
    """The page; the lab in it starts by itself."""
    html = read("lab/lab.html")
    scripts = f"{script('player')}\n{script('lab')}"
    return PAGE.format(theme="dark" if dark else "", style=style("lab"), script=scripts, html=html)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
