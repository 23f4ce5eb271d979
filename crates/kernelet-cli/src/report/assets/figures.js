// What all parts share: the figures of the page.
const figures = JSON.parse(document.getElementById("figures").textContent);
const full = figures.full;
const state = { method: figures.chosen.method, level: figures.chosen.level };

const error = value => figures.task === "classes" ? percent(value) : known(value) ? digits(value, 4) : "–";
const label = place => figures.labels[place] === undefined ? "?" : figures.labels[place];
const levels = place => figures.methods[place].levels;
const colour = place => "m" + place % 6;

/* The level of a method that stands beside so many vectors: its largest that is not larger. */
const beside = (place, vectors) => {
  let found = 0;
  levels(place).forEach((level, i) => { if (level.vectors <= vectors) found = i; });
  return found;
};
