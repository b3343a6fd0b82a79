"""A page that holds nothing but the lab and the button of its tab, by which links find it."""

from __future__ import annotations

PAGE = """<!doctype html><html lang="en" class="{theme}" data-answers="{answers}"><head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>lab</title>
<link rel="stylesheet" href="kit/kit.css"><link rel="stylesheet" href="step/step.css">
<link rel="stylesheet" href="lab/lab.css">
<style>body {{ margin: 0; padding: 16px; font-family: system-ui, sans-serif; background: #fff }}
.dark body {{ background: #0f1218 }}</style></head>
<body><div id="hsd-layout"></div><button id="hsd-tab-lab-button" hidden></button>
<div class="hsd-lab hsd-kit" id="one"></div><script type="module">
import {{ start }} from "./lab/lab.js";
window.lab = start(document.getElementById("one"));
for (const one of document.querySelectorAll(".hp-folded")) one.open = true;
</script></body></html>"""


def page(dark: bool = False, answers: str = "files") -> str:
    """The page; the lab in it starts by itself. answers: who answers it."""
    return PAGE.format(theme="dark" if dark else "", answers=answers)
