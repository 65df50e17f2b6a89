// SPDX-License-Identifier: Apache-2.0

// Draws a dashboard as Grafana does, with Grafana's own components, from its JSON and the answers to its queries. The parts that are in Grafana itself and
// in no package are here: the grid, and what the panels "timeseries" and "stat" do with frames.
import "@fontsource/inter/400.css";
import "@fontsource/inter/500.css";
import { createDataFrame, createTheme, dateTime, FieldType, getDisplayProcessor, reduceField, ThemeContext } from "@grafana/data";
import { BigValue, BigValueColorMode, BigValueGraphMode, GlobalStyles, PanelChrome, TimeSeries, VizRepeater } from "@grafana/ui";
import { createRoot } from "react-dom/client";

const width = 1600, cell = 30, gap = 8; // Grafana's own cell and gap, in pixels
const theme = createTheme({ colors: { mode: "dark" } });

// What a panel "timeseries" has where its JSON says nothing.
const drawn = {
  drawStyle: "line", lineInterpolation: "linear", lineWidth: 1, fillOpacity: 0, gradientMode: "none", pointSize: 5, showPoints: "auto", spanNulls: false,
  axisPlacement: "auto", axisColorMode: "text", axisBorderShow: false, axisLabel: "", barAlignment: 0, scaleDistribution: { type: "linear" },
  stacking: { mode: "none", group: "A" }, thresholdsStyle: { mode: "off" }, hideFrom: { tooltip: false, viz: false, legend: false },
};

// legend names a series as the data source Prometheus does.
function legend(format, labels) {
  if (!format) {
    const { __name__: name = "", ...rest } = labels;
    const shown = Object.entries(rest).map(([key, value]) => `${key}="${value}"`).join(", ");
    return name || shown ? `${name}{${shown}}` : "Value";
  }
  return format.replace(/\{\{\s*(.+?)\s*\}\}/g, (_, label) => labels[label] ?? label);
}

function framesOf(panel, answers) {
  const { defaults, overrides } = panel.fieldConfig;
  const frames = answers.flatMap((series, query) => series.map((s) => {
    const name = legend(panel.targets[query].legendFormat, s.labels);
    const config = { color: { mode: panel.type === "stat" ? "thresholds" : "palette-classic" }, displayNameFromDS: name, ...defaults, custom: { ...drawn, ...defaults.custom } };
    for (const o of overrides) {
      if (o.matcher.id !== "byRegexp") throw new Error(`overrides ${o.matcher.id} are not drawn`);
      if (new RegExp(o.matcher.options).test(name)) for (const p of o.properties) config[p.id] = p.value;
    }
    return createDataFrame({ refId: panel.targets[query].refId, fields: [
      { name: "Time", type: FieldType.time, values: s.times, config: { custom: drawn } }, { name, type: FieldType.number, values: s.values, labels: s.labels, config },
    ] });
  }));
  frames.forEach((frame, i) => frame.fields.forEach((field) => {
    field.state = { seriesIndex: i, displayName: field.type === FieldType.time ? "Time" : field.config.displayNameFromDS };
    field.display = getDisplayProcessor({ field, theme, timeZone: "utc" });
  }));
  return frames;
}

function Graph({ panel, frames, range, width, height }) {
  return <TimeSeries frames={frames} timeRange={range} timeZone="utc" width={width} height={height} legend={{ showLegend: true, calcs: [], ...panel.options.legend }}
    options={panel.options} />;
}

const longer = (a = "", b = "") => (a.length > b.length ? a : b);

function Numbers({ panel, frames, width, height }) {
  const values = () => frames.map(({ fields: [, field] }) => {
    const [calc] = panel.options.reduceOptions.calcs;
    const display = field.display(reduceField({ field, reducers: [calc] })[calc]);
    return { ...display, title: frames.length > 1 ? field.state.displayName : undefined };
  });
  return <VizRepeater getValues={values} source={frames} width={width} height={height} autoGrid orientation={panel.options.orientation ?? "auto"} itemSpacing={3}
    getAlignmentFactors={(displays) => displays.reduce((widest, d) => ({
      title: longer(widest.title, d.title), text: longer(widest.text, d.text), suffix: longer(widest.suffix, d.suffix), prefix: longer(widest.prefix, d.prefix),
    }), { title: "", text: "" })}
    renderValue={({ value, width, height, count, alignmentFactors }) => <BigValue value={value} width={width} height={height} count={count} theme={theme}
      alignmentFactors={alignmentFactors} text={panel.options.text} colorMode={panel.options.colorMode ?? BigValueColorMode.Value}
      graphMode={BigValueGraphMode.None} justifyMode={panel.options.justifyMode ?? "auto"} />} />;
}

const kinds = { timeseries: Graph, stat: Numbers };

function Dashboard({ picture: { dashboard, variables, answers }, range }) {
  const column = (width - gap) / 24;
  const rows = Math.max(...dashboard.panels.map((p) => p.gridPos.y + p.gridPos.h));
  return <div style={{ width, padding: gap, background: theme.colors.background.canvas }} id="dashboard">
    <h2 style={{ margin: "4px 8px 10px" }}>{dashboard.title}</h2>
    <div style={{ display: "flex", gap: 16, margin: "0 8px 12px" }}>
      {dashboard.templating.list.map((v) => <span key={v.name}>
        <span style={{ color: theme.colors.text.secondary, marginRight: 6 }}>{v.label}</span>
        <span style={{ border: `1px solid ${theme.colors.border.medium}`, padding: "4px 8px" }}>{variables[v.name]}</span></span>)}
    </div>
    <div style={{ position: "relative", height: rows * (cell + gap) }}>
      {dashboard.panels.map((panel, i) => {
        const { x, y, w, h } = panel.gridPos, Kind = kinds[panel.type];
        const size = { width: w * column - gap, height: h * (cell + gap) - gap };
        const frames = framesOf(panel, answers[i]);
        return <div key={panel.id} style={{ position: "absolute", left: x * column, top: y * (cell + gap) }}>
          <PanelChrome title={panel.title} description={panel.description} {...size}>
            {(width, height) => frames.length ? <Kind {...{ panel, frames, range, width, height }} /> : "No data"}
          </PanelChrome></div>;
      })}
    </div>
  </div>;
}

const pictures = await (await fetch("answers.json")).json();
const picture = pictures.find(({ file }) => file === location.hash.slice(1));
const times = pictures.flatMap(({ answers }) => answers.flat(2).flatMap((s) => s.times));
const [from, to] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))].map((t) => dateTime(t));
createRoot(document.getElementById("root")).render(<ThemeContext.Provider value={theme}><GlobalStyles />
  <Dashboard picture={picture} range={{ from, to, raw: { from, to } }} /></ThemeContext.Provider>);
