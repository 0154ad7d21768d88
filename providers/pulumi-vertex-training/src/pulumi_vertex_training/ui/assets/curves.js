// Draws the curves of a page with uPlot, and makes the table of their values when it is opened.
"use strict";

(() => {
  const HEIGHT = 156;
  const COLOURS = 8;
  const MOST_LEGENDS = 10;
  const FONT = "11px Inter, system-ui, sans-serif";
  const SMOOTH = 0.8;
  const STEPS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].flatMap((one) => [one, 2 * one, 5 * one]);
  const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
  const drawn = new WeakMap(); // the figure -> what it shows
  const axisChoice = document.getElementById("curves-axis");

  function isChecked(id) {
    const box = document.getElementById(id);
    return Boolean(box && box.checked);
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function faint(stroke, percent) {
    return `color-mix(in srgb, ${stroke} ${percent}%, transparent)`;
  }

  function short(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "string") return value; // "nan", "inf", "-inf"
    return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
      ? value.toExponential(3)
      : String(Number(value.toPrecision(5)));
  }

  // Labels of an axis have as many decimals as its steps, so that no two are the same.
  function labels(_plot, all, _axis, _space, step) {
    if (!step) return all.map((each) => (each === null ? "" : short(each)));
    let decimals = 0;
    while (decimals < 8 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
    const plain = (each) => (Math.abs(each) >= 1e5 ? each.toExponential(1) : each.toFixed(decimals));
    return all.map((each) => (each === null ? "" : plain(each)));
  }

  // Curves over steps can be drawn over the time since the first value of their run, if all points have a time.
  function isTimed(chart) {
    return chart.across === "step" && chart.series.every((one) => one.timed);
  }

  function across(chart) {
    return isTimed(chart) && axisChoice && axisChoice.value === "time" ? "time since the first value" : chart.across;
  }

  function position(chart, x) {
    if (across(chart) !== chart.across) return x < 10 && x % 1 ? `${x.toFixed(1)}s` : inWords(x);
    if (chart.across !== "time") return short(x);
    const ahead = Number(document.documentElement.dataset.ahead || 0); // of the emulator's clock, as in the log
    return new Date(1000 * (x + ahead)).toTimeString().slice(0, 8);
  }

  function isSmooth(chart) {
    return chart.across !== "time" && isChecked("curves-smooth");
  }

  // The exponential mean, corrected for its beginning.
  function smoothed(values) {
    let mean = 0;
    let weight = 0;
    return values.map((each) => {
      if (each === null || each === undefined) return each;
      mean = SMOOTH * mean + (1 - SMOOTH) * each;
      weight = SMOOTH * weight + (1 - SMOOTH);
      return mean / weight;
    });
  }

  // The points over their time: of two at the same time, the later one.
  function overTime(points) {
    const at = new Map(points.map(([, value, time]) => [time, value]));
    return [...at].sort(([one], [other]) => one - other);
  }

  // Returns the columns of a chart: x, and one for each line; a band has two. Words are not numbers.
  function tableOf(chart) {
    const isOverTime = across(chart) !== chart.across;
    const pointsOf = (one) => (isOverTime ? overTime(one.points) : one.points);
    const column = (one, place) => pointsOf(one).map((each) => each[place]);
    const tables = chart.series.flatMap((one) =>
      one.shape === "band"
        ? [[column(one, 0), column(one, 1)], [column(one, 0), column(one, 2)]]
        : [[column(one, 0), column(one, 1)]],
    );
    if (!tables.length) return [[]];
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

  function dataOf(chart) {
    const columns = tableOf(chart);
    // A line has a gap at null, and none at undefined, where another curve alone has a point.
    const numbers = columns.map((column) => column.map((each) => (typeof each === "string" ? null : each)));
    if (!isSmooth(chart)) return numbers;
    return numbers.map((column, number) => (number ? smoothed(column) : column));
  }

  function lineOf(one, number, chart) {
    const stroke = colour(`--curve-${(number % COLOURS) + 1}`);
    const found = {
      label: one.name.replace(/^workerpool/, "pool "), // a legend has little space
      stroke,
      width: 1.75,
      dash: number < COLOURS ? undefined : [7, 4], // a second turn of the colours
      spanGaps: false,
      fill: chart.series.length === 1 && !one.shape.startsWith("point") ? faint(stroke, 9) : undefined,
      points: { show: one.points.length < 2 || undefined, size: 6, fill: stroke },
      value: (plot, value, place, index) => wordAt(plot, one, index, chart) ?? valueOf(chart, shown(plot, value, place, index)),
    };
    if (one.shape === "points") {
      found.paths = () => null;
      found.points = { show: true, size: 7, fill: stroke };
    }
    if (one.shape === "steps") found.paths = uPlot.paths.stepped({ align: 1 });
    return found;
  }

  function bandOf(one, chart) {
    const edge = { stroke: faint(colour("--band"), 45), width: 1, points: { show: false } };
    const between = (plot, value, place, index) => {
      const low = shown(plot, value, place, index);
      const high = shown(plot, plot.data[place + 1][index], place + 1, index);
      return low === null || low === undefined ? "" : `${valueOf(chart, low)} to ${valueOf(chart, high)}`;
    };
    return [
      { ...edge, label: one.name, value: between },
      { ...edge, label: "", class: "low" },
    ];
  }

  // A measure of use has three digits and at most three decimals, so that a small one is no wider.
  function valueOf(chart, found) {
    if (found === null || found === undefined) return "";
    return chart.unit ? String(Number(Number(found.toPrecision(3)).toFixed(3))) : short(found);
  }

  // Returns the word of a point whose value is not finite, without a pointer the word of the last point.
  function wordAt(plot, one, index, chart) {
    const x = across(chart) === chart.across ? 0 : 2;
    const at = typeof index === "number" ? one.points.find((each) => each[x] === plot.data[0][index]) : one.points.at(-1);
    return at && typeof at[1] === "string" ? at[1] : undefined;
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
    return { stroke: colour("--quiet"), grid: line, ticks: { show: false }, font: FONT, gap: 6, ...more };
  }

  // The values begin at zero where zero is a measure; a flat line is not blown up to a cliff.
  function rangeOf(chart) {
    if (chart.zero) return (_plot, low, high) => [Math.min(low ?? 0, 0), Math.max(1.08 * (high ?? 0), chart.zero)];
    return (_plot, low, high) => {
      if (low === null || high === null) return [0, 1];
      const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
      const padding = Math.max(0.06 * (high - low), 0.005 * size);
      return [low - padding, high + padding];
    };
  }

  function isLogarithmic(chart) {
    const above = chart.series.every((one) => one.points.every((each) => typeof each[1] === "string" || each[1] > 0));
    return chart.across !== "time" && above && isChecked("curves-log");
  }

  function make(figure, chart) {
    const place = figure.querySelector(".plot");
    place.replaceChildren();
    const single = chart.series.every((one) => one.points.length < 2);
    const log = isLogarithmic(chart);
    const isOverTime = across(chart) !== chart.across;
    const bands = [];
    const lines = chart.series.flatMap((one, number) => {
      if (one.shape !== "band") return [lineOf(one, number, chart)];
      const first = chart.series.slice(0, number).length + 1;
      bands.push({ series: [first + 1, first], fill: faint(colour("--band"), 22) });
      return bandOf(one, chart);
    });
    const made = new uPlot(
      {
        width: Math.max(place.clientWidth, 200),
        height: HEIGHT,
        padding: [10, chart.across === "time" || isOverTime ? 26 : 14, 0, 0],
        scales: {
          x: {
            time: chart.across === "time",
            range: single ? (_plot, low, high) => [low - 1, high + 1] : undefined,
          },
          y: log ? { distr: 3 } : { range: rangeOf(chart) },
        },
        bands,
        series: [
          {
            label: across(chart),
            value: (plot, x, place, index) => {
              const found = shown(plot, x, place, index);
              return found === null || found === undefined ? "" : position(chart, found);
            },
          },
          ...lines,
        ],
        axes: [
          axis(
            chart.across === "time"
              ? { size: 28, space: 80, incrs: SECONDS, values: (_plot, all) => all.map((each) => position(chart, each)) }
              : isOverTime
              ? { size: 28, space: 70, incrs: [0.1, 0.2, 0.5, ...SECONDS], values: (_plot, all) => all.map((each) => position(chart, each)) }
              : { size: 28, incrs: STEPS, values: (_plot, all) => all.map((each) => (Number.isInteger(each) ? String(each) : "")) },
          ),
          axis({ size: 52, space: 34, values: log ? (_plot, all) => all.map(short) : labels }),
        ],
        legend: { show: chart.series.length <= MOST_LEGENDS },
        cursor: {
          drag: { x: true, y: false },
          y: false,
          sync: { key: across(chart), setSeries: false, scales: ["x", null] },
          points: { size: 7 },
        },
      },
      dataOf(chart),
      place,
    );
    // The markers of the legend have the colours of their lines: a style sheet cannot know them.
    place.querySelectorAll(".u-legend .u-series").forEach((row, number) => {
      if (number) row.querySelector(".u-marker").style.color = lines[number - 1].stroke;
    });
    return made;
  }

  function shape(chart) {
    return JSON.stringify([chart.across, chart.unit, chart.zero, chart.series.map((one) => [one.name, one.shape, one.points.length < 2])]);
  }

  function draw(figure, again = false) {
    const text = figure.dataset.curve;
    const known = drawn.get(figure);
    if (known && known.text === text && !again) return;
    const chart = JSON.parse(text);
    if (known && !again && known.shape === shape(chart)) {
      const { min, max } = known.plot.scales.x;
      const all = known.plot.data[0];
      const isZoomed = min > all[0] || max < all[all.length - 1];
      known.plot.setData(dataOf(chart), !isZoomed);
      if (isZoomed) known.plot.setScale("x", { min, max });
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

  function headsOf(one, unit) {
    const names = one.shape === "band" ? [`${one.name}, least`, `${one.name}, most`] : [one.name];
    return names.map((name) => cell("th", name + unit));
  }

  function showTable(figure) {
    const { chart } = drawn.get(figure);
    const [positions, ...columns] = tableOf(chart);
    const table = document.createElement("table");
    table.setAttribute("aria-labelledby", figure.getAttribute("aria-labelledby"));
    const head = table.createTHead().insertRow();
    const unit = chart.unit ? ` (${chart.unit})` : "";
    head.append(cell("th", across(chart)), ...chart.series.flatMap((one) => headsOf(one, unit)));
    const body = table.createTBody();
    positions.forEach((x, number) => {
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
    const figures = [...document.querySelectorAll("figure[data-curve]")];
    for (const figure of figures) draw(figure, again === true);
    if (!axisChoice) return;
    axisChoice.parentElement.hidden = !figures.some((figure) => isTimed(drawn.get(figure).chart));
  }

  // How curves are drawn is in the address, so that a link shows the same, also after other runs are chosen.
  const choices = [...document.querySelectorAll("#curves-tools :is(select, input)")];

  function valueOfChoice(one) {
    if (one.type === "checkbox") return one.checked ? "1" : "";
    return one.selectedIndex ? one.value : "";
  }

  function keepChoices() {
    const address = new URL(location.href);
    for (const one of choices) {
      address.searchParams.delete(one.id);
      if (valueOfChoice(one)) address.searchParams.set(one.id, valueOfChoice(one));
    }
    history.replaceState(null, "", address);
  }

  const given = new URLSearchParams(location.search);
  for (const one of choices) {
    if (one.type === "checkbox") one.checked = given.has(one.id);
    else one.value = [...one.options].some((each) => each.value === given.get(one.id)) ? given.get(one.id) : one.options[0].value;
    one.addEventListener("input", () => {
      keepChoices();
      drawAll(true);
    });
  }
  document.addEventListener("formdata", ({ formData, target }) => {
    if (new URL(target.action).pathname !== location.pathname) return;
    for (const one of choices) if (valueOfChoice(one)) formData.set(one.id, valueOfChoice(one));
  });
  drawAll();
  document.addEventListener("parts", drawAll);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
})();
