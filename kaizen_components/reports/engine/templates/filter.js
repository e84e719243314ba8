"use strict";
// Without this script every row is simply there. With it, a longer table can be filtered by words.
for (const input of document.querySelectorAll("input[data-filters]")) {
  const body = document.getElementById(input.dataset.filters).tBodies[0];
  const told = document.getElementById(input.dataset.filters + "-told");
  input.parentElement.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    told.textContent = words.length ? shown + " of " + body.rows.length + " rows" : "";
  });
}
// On paper the data of a chart cannot be opened, so it is open; afterwards it is as it was.
const opened = [];
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not([open])")) { one.open = true; opened.push(one); }
});
addEventListener("afterprint", () => { while (opened.length) { opened.pop().open = false; } });
