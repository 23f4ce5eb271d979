"use strict";
// Elements and numbers for people, on the page of the report and in the studio.
const byId = id => document.getElementById(id);

// Elements. Text is always set as text, so that labels cannot become markup.
const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
};
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// Numbers for people.
const known = value => typeof value === "number" && Number.isFinite(value);
const count = value => Math.round(value).toLocaleString("en-US");
const digits = (value, n) => Number(value.toPrecision(n)).toString();
const percent = value => known(value) ? (100 * value).toFixed(2) + " %" : "–";
const short = value => !known(value) ? "–" : value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6) ? value.toExponential(1) : digits(value, 3);
const bytes = value => !known(value) ? "–" : value < 1e2 ? value + " bytes" : value < 1e4 ? (value / 1e3).toFixed(1) + " kB"
  : value < 1e6 ? (value / 1e3).toFixed(0) + " kB" : (value / 1e6).toFixed(1) + " MB";
const micros = value => !known(value) ? "–" : value < 1000 ? digits(value, value < 1 ? 2 : 3) + " µs" : digits(value / 1e3, 3) + " ms";
const seconds = value => !known(value) ? "–" : value < .9995 ? digits(1e3 * value, 2) + " ms" : digits(value, 3) + " s";
const many = (value, thing) => count(value) + " " + thing + (value === 1 ? "" : "s");
const times = value => (value < 10 ? value.toFixed(1) : value.toFixed(0)) + "x";
