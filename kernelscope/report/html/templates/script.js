"use strict";
// Sorting, filtering, opening what a link points to, and the theme. Without it the page still reads.

const root = document.documentElement;
const theme = document.getElementById("theme");
const dark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
}

function labelTheme() {
  theme.textContent = isDark() ? "Light" : "Dark";
}

theme.hidden = false;
labelTheme();
dark.addEventListener("change", labelTheme);
theme.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  labelTheme();
});

// -- what a link points to is opened, with everything around it

function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
  const summary = target.querySelector("summary");
  if (summary) summary.focus({ preventScroll: true });
}

addEventListener("hashchange", reveal);
reveal();
for (const link of document.querySelectorAll('a[href^="#"]:not(.skip)'))
  link.addEventListener("click", () => { if (link.hash === location.hash) reveal(); });

// -- the table of kernels

const table = document.getElementById("kernels");
const filters = document.getElementById("filters");

function key(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.sort ?? cell.textContent.trim();
  return value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

function sortBy(header) {
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const column = header.cellIndex;
  const rows = [...table.tBodies[0].rows].map((row) => [key(row, column), row]);
  rows.sort(([a], [b]) => (ascending ? compare(a, b) : compare(b, a)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function filter() {
  const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdicts = new Set([...filters.querySelectorAll("[name=verdict]:checked")].map((box) => box.value));
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !verdicts.has(row.dataset.verdict) || !words.every((word) => text.includes(word));
    const card = document.getElementById(row.querySelector("a").hash.slice(1));
    if (card) card.hidden = row.hidden;
    shown += row.hidden ? 0 : 1;
  }
  document.getElementById("shown").textContent = `${shown} of ${table.tBodies[0].rows.length} shown`;
}

if (table && filters) {
  filters.hidden = false;
  for (const header of table.tHead.rows[0].cells) {
    if (!header.hasAttribute("aria-sort")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => sortBy(header));
  }
  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  const openAll = (open) => {
    for (const part of document.querySelectorAll("details.kernel")) if (!part.hidden) part.open = open;
  };
  document.getElementById("expand").addEventListener("click", () => openAll(true));
  document.getElementById("collapse").addEventListener("click", () => openAll(false));
  filter();
}

addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
