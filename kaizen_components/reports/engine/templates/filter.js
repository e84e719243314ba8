"use strict";
// Let the reader filter long tables by words. Without this script, all rows are visible.
for (const input of document.querySelectorAll("input[data-filters]")) {
  const body = document.getElementById(input.dataset.filters).tBodies[0];
  const count = document.getElementById(input.dataset.filters + "-count");
  input.parentElement.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? shown + " of " + body.rows.length + " rows" : "";
  });
}
// Paper cannot be clicked: open the data of each chart for printing, and close it afterwards.
const opened = [];
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) { details.open = true; opened.push(details); }
});
addEventListener("afterprint", () => { while (opened.length) { opened.pop().open = false; } });
