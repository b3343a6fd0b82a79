// Hatches of bars. Plotly names one by the page's whole address, which changes while the chart stays: then it is not
// found, and the bar is not there. By its id alone it always is.

const ADDRESS = /url\("[^"#]+#/;

function shorten(within) {
  for (const bar of within.querySelectorAll('[style*="url("]'))
    if (ADDRESS.test(bar.style.fill)) bar.style.fill = bar.style.fill.replace(ADDRESS, 'url("#');
}

/** Keep the hatches in this element, whenever a chart in it is drawn. */
function keepHatches(within) {
  const drawn = { subtree: true, childList: true, attributeFilter: ["style"] };
  new MutationObserver(() => shorten(within)).observe(within, drawn);
  shorten(within);
}

export { keepHatches };
