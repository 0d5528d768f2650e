"use strict";
/* Sorts and filters tables, and opens what a link leads to. All of the page can be read without it. */
(() => {
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.value;
    return number === undefined ? cell.textContent.trim() : Number(number);
  };

  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; /* what has no value comes last */
    return a.localeCompare(b, "en", { numeric: true });
  };

  const sort = (table, heading) => {
    const headings = [...heading.parentElement.cells];
    const column = headings.indexOf(heading);
    const rows = [...table.tBodies[0].rows];
    const numbers = rows.some((row) => typeof value(row, column) === "number");
    const before = heading.getAttribute("aria-sort");
    const ascending = before ? before === "descending" : !numbers;
    headings.forEach((each) => each.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    rows.sort((one, other) => {
      const [a, b] = [value(one, column), value(other, column)];
      const order = compare(a, b);
      return ascending || typeof a !== typeof b ? order : -order;
    });
    table.tBodies[0].append(...rows);
  };

  for (const table of document.querySelectorAll("table[data-sorts]")) {
    for (const heading of table.tHead.rows[table.tHead.rows.length - 1].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 8) continue;
    const label = document.createElement("label");
    const input = document.createElement("input");
    label.className = "filter";
    input.type = "search";
    label.append("Only rows with ", input);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentElement.before(label);
  }

  /* Only what scrolls is a stop for the keyboard. */
  const stops = () => {
    for (const each of document.querySelectorAll(".wide, figure.drawn")) {
      if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
      else each.removeAttribute("tabindex");
    }
  };
  stops();
  addEventListener("resize", stops);
  addEventListener("toggle", stops, true);
  addEventListener("change", stops);

  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  if (location.hash) open();
  /* A click on the link that is there already changes no hash. */
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (link && link.hash === location.hash) open();
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    const cells = document.querySelectorAll("details.cell");
    /* Not the lists of images: they would take most of the paper. */
    const wanted = cells.length > 12 ? "details:not(.cell):not(.cell *)" : "details:not(.images *)";
    opened = [...document.querySelectorAll(wanted)].filter((each) => !each.open);
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });
})();
