// Draws the curves of a page with uPlot, and makes the table of their values when it is opened.
"use strict";

(() => {
  const HEIGHT = 190;
  const COLOURS = 6;
  const MOST_LEGENDS = 8;
  const drawn = new WeakMap(); // the figure -> what it shows

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function short(value) {
    if (value === null || value === undefined) return "";
    return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
      ? value.toExponential(3)
      : String(Number(value.toPrecision(5)));
  }

  function position(chart, x) {
    return chart.across === "time" ? new Date(1000 * x).toTimeString().slice(0, 8) : short(x);
  }

  function dataOf(chart) {
    const tables = chart.series.map((one) => [one.points.map((each) => each[0]), one.points.map((each) => each[1])]);
    if (!tables.length) return [[]];
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

  function seriesOf(one, number, chart) {
    const stroke = colour(`--curve-${(number % COLOURS) + 1}`);
    const found = {
      label: one.name,
      stroke,
      width: 2,
      spanGaps: true,
      dash: number >= COLOURS ? [6, 4] : undefined,
      points: { show: one.points.length < 2 || undefined, size: 6, fill: stroke },
      value: (plot, value, place, index) => {
        const found = shown(plot, value, place, index);
        if (found === null || found === undefined) return "";
        return chart.unit ? `${Number(found.toPrecision(3))} ${chart.unit}` : short(found);
      },
    };
    if (one.shape === "points") {
      found.paths = () => null;
      found.points = { show: true, size: 7, fill: stroke };
    }
    if (one.shape === "steps") found.paths = uPlot.paths.stepped({ align: 1 });
    return found;
  }

  // Without a pointer the legend has the last value of each curve.
  function lastOf(values) {
    for (let number = values.length - 1; number >= 0; number -= 1) {
      if (values[number] !== null && values[number] !== undefined) return values[number];
    }
    return null;
  }

  function shown(plot, value, number, index) {
    return index === null || index === undefined ? lastOf(plot.data[number]) : value;
  }

  function axis(more) {
    const line = { stroke: colour("--line"), width: 1 };
    return { stroke: colour("--quiet"), grid: line, ticks: line, font: "12px system-ui, sans-serif", ...more };
  }

  function labelOf(chart) {
    return chart.unit ? { label: chart.unit, labelSize: 18, labelFont: "12px system-ui, sans-serif" } : {};
  }

  function make(figure, chart) {
    const place = figure.querySelector(".plot");
    place.replaceChildren();
    const single = chart.series.every((one) => one.points.length < 2);
    return new uPlot(
      {
        width: Math.max(place.clientWidth, 200),
        height: HEIGHT,
        scales: {
          x: {
            time: chart.across === "time",
            range: single ? (_plot, low, high) => [low - 1, high + 1] : undefined,
          },
        },
        series: [
          {
            label: chart.across,
            value: (plot, x, place, index) => {
              const found = shown(plot, x, place, index);
              return found === null || found === undefined ? "" : position(chart, found);
            },
          },
          ...chart.series.map((one, number) => seriesOf(one, number, chart)),
        ],
        axes: [
          axis(
            chart.across === "time"
              ? { space: 80, values: (_plot, all) => all.map((each) => position(chart, each)) }
              : { values: (_plot, all) => all.map((each) => (Number.isInteger(each) ? String(each) : "")) },
          ),
          axis({ size: 62, values: (_plot, all) => all.map(short), ...labelOf(chart) }),
        ],
        legend: { show: chart.series.length <= MOST_LEGENDS },
        cursor: { drag: { x: true, y: false } },
      },
      dataOf(chart),
      place,
    );
  }

  function shape(chart) {
    return JSON.stringify([chart.across, chart.unit, chart.series.map((one) => [one.name, one.shape, one.points.length < 2])]);
  }

  function draw(figure, again = false) {
    const text = figure.dataset.curve;
    const known = drawn.get(figure);
    if (known && known.text === text && !again) return;
    const chart = JSON.parse(text);
    if (known && !again && known.shape === shape(chart)) {
      known.plot.setData(dataOf(chart));
      if (typeof known.plot.cursor.idx !== "number") known.plot.setLegend({ idx: null }, false);
      drawn.set(figure, { ...known, text, chart });
    } else {
      if (known) known.plot.destroy();
      drawn.set(figure, { text, chart, shape: shape(chart), plot: make(figure, chart) });
    }
    if (!known) start(figure);
    else if (figure.querySelector("details").open) showTable(figure);
  }

  function start(figure) {
    const details = figure.querySelector("details");
    details.addEventListener("toggle", () => details.open && showTable(figure));
    new ResizeObserver(() => {
      const width = figure.querySelector(".plot").clientWidth;
      const { plot } = drawn.get(figure);
      if (width && Math.abs(plot.width - width) > 1) plot.setSize({ width, height: HEIGHT });
    }).observe(figure);
  }

  function cell(name, text) {
    const made = document.createElement(name);
    made.textContent = text;
    if (name === "th") made.scope = "col";
    return made;
  }

  function showTable(figure) {
    const { chart } = drawn.get(figure);
    const [across, ...columns] = dataOf(chart);
    const table = document.createElement("table");
    table.setAttribute("aria-labelledby", figure.getAttribute("aria-labelledby"));
    const head = table.createTHead().insertRow();
    const unit = chart.unit ? ` (${chart.unit})` : "";
    head.append(cell("th", chart.across), ...chart.series.map((one) => cell("th", one.name + unit)));
    const body = table.createTBody();
    across.forEach((x, number) => {
      body.insertRow().append(cell("td", position(chart, x)), ...columns.map((each) => cell("td", short(each[number]))));
    });
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-labelledby", figure.getAttribute("aria-labelledby"));
    scroll.append(table);
    const details = figure.querySelector("details");
    const old = details.querySelector(".scroll");
    const top = old ? old.scrollTop : 0;
    if (old) old.replaceWith(scroll);
    else details.append(scroll);
    scroll.scrollTop = top;
  }

  function drawAll(again = false) {
    for (const figure of document.querySelectorAll("figure[data-curve]")) draw(figure, again === true);
  }

  drawAll();
  document.addEventListener("parts", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
})();
