// Columns (or rows) for what has an order: prerequisites, time, a hierarchy.

/** The layer of each node: as given, else one more than the farthest of those that lead to it. */
export const ranks = (data) => {
  const rank = new Map(data.nodes.filter((node) => Number.isFinite(node.layer)).map((node) => [node.id, node.layer]));
  if (rank.size === data.nodes.length) return rank;
  const ids = new Set(data.nodes.map((node) => node.id));
  const edges = data.edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target) && edge.source !== edge.target);
  for (const node of data.nodes) if (!rank.has(node.id)) rank.set(node.id, 0);
  for (let round = 0, changed = true; changed && round < data.nodes.length; round += 1) { // a cycle ends with the rounds
    changed = false;
    for (const edge of edges) {
      const wanted = rank.get(edge.source) + 1;
      if (rank.get(edge.target) < wanted && wanted <= data.nodes.length) { rank.set(edge.target, wanted); changed = true; }
    }
  }
  return rank;
};

const ROW = 84, BETWEEN = 30, CELL = 108;

/** Positions for a narrow page: layers from top to bottom, each on as many rows as it needs; `height` is that of all. */
export const stacked = (data, width) => {
  const { order, columns } = ordered(data), most = Math.max(2, Math.floor(width / CELL)), found = {};
  let y = 0;
  for (const layer of order) {
    const ids = columns.get(layer), rows = Math.ceil(ids.length / most), each = Math.ceil(ids.length / rows);
    for (let row = 0; row < rows; row += 1, y += ROW) {
      const here = ids.slice(row * each, (row + 1) * each), step = Math.min(width / here.length, 1.3 * CELL);
      const aside = rows > 1 ? (row % 2 ? 0.12 : -0.12) * step : 0; // so that lines pass between the names above
      here.forEach((id, index) => { found[id] = { x: (index - (here.length - 1) / 2) * step + aside, y }; });
    }
    y += BETWEEN;
  }
  return { positions: found, height: y - BETWEEN };
};

/** The layers in their order, and the nodes of each in theirs: near those they hang on. */
const ordered = (data) => {
  const rank = ranks(data), columns = new Map();
  for (const node of data.nodes) {
    const layer = rank.get(node.id);
    if (!columns.has(layer)) columns.set(layer, []);
    columns.get(layer).push(node.id);
  }
  const order = [...columns.keys()].sort((a, b) => a - b), near = new Map(data.nodes.map((node) => [node.id, []]));
  for (const edge of data.edges) { near.get(edge.source)?.push(edge.target); near.get(edge.target)?.push(edge.source); }
  const place = new Map();
  const settle = (ids) => ids.forEach((id, index) => place.set(id, index - (ids.length - 1) / 2));
  order.forEach((layer) => settle(columns.get(layer)));
  for (let round = 0; round < 6; round += 1) {
    for (const layer of round % 2 ? [...order].reverse() : order) {
      const mean = (id) => { const found = near.get(id).map((other) => place.get(other)).filter((value) => value !== undefined); return found.length ? found.reduce((a, b) => a + b, 0) / found.length : place.get(id); };
      const ids = columns.get(layer), means = new Map(ids.map((id) => [id, mean(id)]));
      ids.sort((a, b) => means.get(a) - means.get(b));
      settle(ids);
    }
  }
  return { order, columns, place, rank };
};

/** Positions by node id: layers in order, the nodes of each near those they hang on. */
export const layers = (data) => {
  const { order, place, rank } = ordered(data);
  const down = data.direction === "down", along = down ? 110 : 190, across = down ? 130 : 56, found = {};
  for (const node of data.nodes) {
    const main = order.indexOf(rank.get(node.id)) * along, cross = place.get(node.id) * across;
    found[node.id] = down ? { x: cross, y: main } : { x: main, y: cross };
  }
  return found;
};
