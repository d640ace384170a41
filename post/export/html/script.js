"use strict";
/* Draws the page from the data in #data. Node 0 is the root; parents come before their children. Text from the
 * profile only ever becomes text nodes or is drawn: never markup. */
(function () {
	const ROW = 20, MIN_WIDTH = 0.4, N_FUNCTIONS = 200;
	const data = JSON.parse(document.getElementById("data").textContent);
	const isDiff = data.mode === "diff";
	const nMetrics = data.metrics.length;
	const nNodes = data.parents.length + 1;
	const get = (id) => document.getElementById(id);

	const parent = new Int32Array(nNodes), depth = new Uint32Array(nNodes);
	const start = new Float64Array(nNodes), width = new Float64Array(nNodes);
	let firstChild = new Int32Array(nNodes), nextSibling = new Int32Array(nNodes);
	let metric = 0, side = "new", zoom = 0, hover = -1, maxDepth = 0;
	let matching = null;

	parent[0] = -1;
	for (let i = 1; i < nNodes; i++) {
		parent[i] = data.parents[i - 1];
		depth[i] = depth[parent[i]] + 1;
		maxDepth = Math.max(maxDepth, depth[i]);
	}

	const nameOf = (i) => i ? data.strings[data.names[i - 1]] : "everything";
	const moduleOf = (i) => i && data.modules ? data.strings[data.modules[i - 1]] : "";
	const base = (path) => path.slice(path.lastIndexOf("/") + 1);
	const column = (m, which) => data.values[isDiff && which === "new" ? nMetrics + m : m];
	const current = () => column(metric, isDiff ? side : "old");

	/* ---- figures ---- */
	function bytes(n) {
		const units = ["B", "KiB", "MiB", "GiB", "TiB"];
		let unit = 0;
		while (Math.abs(n) >= 1024 && unit < units.length - 1) {
			n /= 1024;
			unit++;
		}
		return (unit ? n.toFixed(2) : String(n)) + " " + units[unit];
	}
	const figure = (m, n) => data.metrics[m].bytes ? bytes(n) : n.toLocaleString("en-US");
	const signed = (m, n) => (n > 0 ? "+" : n < 0 ? "−" : "±") + figure(m, Math.abs(n));
	const percent = (part, whole) => whole ? (part * 100 / whole).toFixed(1) + " %" : "–";
	const growth = (old, now) => old === now ? "same" : old ? (now > old ? "+" : "−") +
		Math.abs((now - old) * 100 / old).toFixed(1) + " %" : "new";
	function duration(ns) {
		if (ns < 1e3) return ns.toFixed(0) + " ns";
		if (ns < 1e6) return (ns / 1e3).toFixed(1) + " µs";
		if (ns < 1e9) return (ns / 1e6).toFixed(1) + " ms";
		return (ns / 1e9).toFixed(3) + " s";
	}
	function element(tag, text, className) {
		const made = document.createElement(tag);
		if (text !== undefined) made.textContent = text;
		if (className) made.className = className;
		return made;
	}

	/* ---- colours ---- */
	const dark = matchMedia("(prefers-color-scheme: dark)");
	const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const HUES = [24, 205, 96, 275, 340, 48, 170, 232, 130, 0];
	const hueOfModule = new Map();
	if (!isDiff) {
		/* The modules that hold most of the allocations come first, with the colours furthest apart. */
		const weight = new Map();
		for (let i = 1; i < nNodes; i++)
			weight.set(moduleOf(i), (weight.get(moduleOf(i)) || 0) + data.values[1][i]);
		[...weight.keys()].filter((m) => m).sort((a, b) => weight.get(b) - weight.get(a) || (a < b ? -1 : 1))
			.forEach((m, i) => hueOfModule.set(m, HUES[i % HUES.length]));
	}
	function colourOf(i) {
		const light = dark.matches;
		if (!i || nameOf(i)[0] === "[") return light ? "#3a414c" : "#dfe3e8";
		if (!isDiff) {
			const hue = hueOfModule.get(moduleOf(i));
			let shade = 0;
			for (const c of nameOf(i)) shade = (shade * 31 + c.charCodeAt(0)) % 9;
			if (hue === undefined) return light ? "#4b535f" : "#d5dae1";
			return light ? `hsl(${hue} 38% ${29 + shade}%)` : `hsl(${hue} 72% ${75 + shade}%)`;
		}
		const old = column(metric, "old")[i], now = column(metric, "new")[i];
		const change = (now - old) / Math.max(now, old, 1);
		if (!change) return light ? "#3a414c" : "#e6e9ed";
		const strength = 0.25 + 0.75 * Math.abs(change);
		const hue = change > 0 ? 4 : 214;
		return light ? `hsl(${hue} ${30 + 35 * strength}% ${26 + 16 * strength}%)`
			: `hsl(${hue} ${60 + 25 * strength}% ${93 - 25 * strength}%)`;
	}

	/* ---- layout: children side by side, largest first, for the metric shown ---- */
	function layout() {
		const values = current();
		const order = new Int32Array(nNodes - 1);
		for (let i = 1; i < nNodes; i++) order[i - 1] = i;
		/* Smallest first, so that each becomes the new head of its parent's list; then by name. */
		order.sort((a, b) => values[a] - values[b] || b - a);
		firstChild.fill(-1);
		for (const i of order) {
			nextSibling[i] = firstChild[parent[i]];
			firstChild[parent[i]] = i;
		}
		start[0] = 0;
		width[0] = values[0];
		for (let i = 0; i < nNodes; i++) {
			let at = start[i];
			for (let child = firstChild[i]; child >= 0; child = nextSibling[child]) {
				start[child] = at;
				width[child] = values[child];
				at += values[child];
			}
		}
	}

	/* ---- the graph ---- */
	const graph = get("graph"), canvas = get("flames"), space = get("space");
	const ink = canvas.getContext("2d");
	const FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
	let characterWidth = 7;

	const isAbove = (i) => { /* whether i is an ancestor of the zoomed node, or the node */
		for (let at = zoom; at >= 0; at = parent[at]) if (at === i) return true;
		return false;
	};
	function place(i) { /* x and width in pixels */
		if (isAbove(i)) return [0, graph.clientWidth];
		const scale = graph.clientWidth / (width[zoom] || 1);
		return [(start[i] - start[zoom]) * scale, width[i] * scale];
	}
	/* A C++ name without its template arguments; operators look like brackets too. */
	function shorten(text) {
		const pieces = text.split(/(operator(?:<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>)|->|[<>])/);
		let made = "", nesting = 0;
		for (const piece of pieces) {
			if (piece === ">") nesting = Math.max(0, nesting - 1);
			if (!nesting) made += piece === "<" ? "<…" : piece;
			if (piece === "<") nesting++;
		}
		return made;
	}
	function fit(text, room) {
		const n = Math.floor(room / characterWidth);
		if (text.length > n) text = shorten(text);
		return text.length <= n ? text : n > 2 ? text.slice(0, n - 1) + "…" : "";
	}
	function drawFrame(i, x, w, y) {
		const lit = matching && matching[i];
		ink.globalAlpha = i !== zoom && isAbove(i) ? 0.55 : matching && !lit ? 0.45 : 1;
		ink.fillStyle = lit ? "#d36bd0" : colourOf(i);
		ink.fillRect(x, y, Math.max(w - (w > 3 ? 1 : 0), MIN_WIDTH), ROW - 1);
		if (i === hover) {
			ink.strokeStyle = style("--text");
			ink.strokeRect(x + 0.5, y + 0.5, Math.max(w - 2, 1), ROW - 2);
		}
		if (w > 22) {
			ink.fillStyle = dark.matches ? "#f0f3f7" : "#20252c";
			ink.fillText(fit(nameOf(i), w - 8), x + 4, y + ROW / 2, w - 6);
		}
		ink.globalAlpha = 1;
	}
	function draw() {
		const w = graph.clientWidth, h = graph.clientHeight, ratio = devicePixelRatio || 1;
		space.style.height = (maxDepth + 1) * ROW + "px";
		if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
			canvas.width = Math.round(w * ratio);
			canvas.height = Math.round(h * ratio);
			canvas.style.width = w + "px";
			canvas.style.height = h + "px";
		}
		ink.setTransform(ratio, 0, 0, ratio, 0, 0);
		ink.clearRect(0, 0, w, h);
		ink.font = FONT;
		ink.textBaseline = "middle";
		characterWidth = ink.measureText("abcdefghijklmnopqrstuvwxyz").width / 26 * 1.04;
		const top = graph.scrollTop, stack = [];
		for (let at = parent[zoom]; at >= 0; at = parent[at]) {
			const y = depth[at] * ROW - top;
			if (y > -ROW && y < h) drawFrame(at, 0, w, y);
		}
		get("empty").hidden = width[0] > 0;
		if (width[0] > 0) stack.push(zoom);
		while (stack.length) {
			const i = stack.pop(), y = depth[i] * ROW - top, [x, room] = place(i);
			if (room < MIN_WIDTH || y >= h) continue;
			if (y > -ROW) drawFrame(i, x, room, y);
			for (let child = firstChild[i]; child >= 0; child = nextSibling[child]) {
				if (!width[child]) break;
				stack.push(child);
			}
		}
	}
	let asked = false;
	function redraw() {
		if (asked) return;
		asked = true;
		requestAnimationFrame(() => { asked = false; draw(); });
	}
	function frameAt(event) {
		const box = graph.getBoundingClientRect();
		const x = event.clientX - box.left - graph.clientLeft;
		const row = Math.floor((event.clientY - box.top - graph.clientTop + graph.scrollTop) / ROW);
		if (!width[0] || row < 0) return -1;
		if (row <= depth[zoom]) {
			let at = zoom;
			while (depth[at] > row) at = parent[at];
			return at;
		}
		let i = zoom;
		while (depth[i] < row) {
			let child = firstChild[i];
			for (; child >= 0; child = nextSibling[child]) {
				const [left, room] = place(child);
				if (x >= left && x < left + room) break;
			}
			if (child < 0) return -1;
			i = child;
		}
		return i;
	}
	function zoomTo(i) {
		zoom = i;
		hover = -1;
		get("reset").disabled = !zoom;
		if ((depth[i] + 1) * ROW > graph.scrollTop + graph.clientHeight || depth[i] * ROW < graph.scrollTop)
			graph.scrollTop = Math.max(0, (depth[i] - 2) * ROW);
		showCrumbs();
		redraw();
	}
	function showCrumbs() {
		const crumbs = get("crumbs"), values = current(), path = [];
		crumbs.replaceChildren();
		for (let at = zoom; at > 0; at = parent[at]) path.unshift(nameOf(at));
		crumbs.title = path.join("\n");
		if (!zoom) {
			crumbs.append("Click a frame to zoom in; callers are above, what they call below.");
			return;
		}
		if (path.length > 1) crumbs.append((path.length > 3 ? "… › " : "") + path.slice(-3, -1).join(" › ") + " › ");
		crumbs.append(element("b", nameOf(zoom)), ` — ${figure(metric, values[zoom])}, ` +
			`${percent(values[zoom], values[0])} of all`);
	}

	/* ---- what is under the pointer ---- */
	function showTip(i, event) {
		const tip = get("tip");
		tip.style.display = i < 0 ? "none" : "block";
		if (i < 0) return;
		const table = element("table");
		for (let m = 0; m < nMetrics; m++) {
			const row = table.insertRow(), now = column(m, "new")[i];
			row.insertCell().textContent = data.metrics[m].name;
			if (isDiff) {
				const old = column(m, "old")[i];
				row.insertCell().textContent = figure(m, old) + " → " + figure(m, now);
				row.insertCell().append(element("span", growth(old, now), now > old ? "up" : now < old ? "down" : ""));
			} else {
				row.insertCell().textContent = figure(m, now);
				row.insertCell().textContent = percent(now, column(m, "new")[0]);
			}
			if (m === metric) row.style.fontWeight = "600";
		}
		tip.replaceChildren(element("div", nameOf(i), "name"), element("div", moduleOf(i), "module"), table);
		const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
		const below = event.clientY + 18;
		tip.style.left = Math.max(8, x) + "px";
		tip.style.top = (below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : below) + "px";
	}
	canvas.addEventListener("mousemove", (event) => {
		const i = frameAt(event);
		if (i !== hover) {
			hover = i;
			redraw();
		}
		showTip(i, event);
	});
	canvas.addEventListener("mouseleave", () => { hover = -1; showTip(-1); redraw(); });
	canvas.addEventListener("click", (event) => {
		const i = frameAt(event);
		if (i >= 0) zoomTo(i);
	});
	graph.addEventListener("scroll", redraw);

	/* ---- search ---- */
	function search() {
		const text = get("search").value.trim(), values = current();
		matching = null;
		get("matches").textContent = "";
		if (text) {
			let test;
			const slashed = /^\/(.+)\/$/.exec(text);
			try {
				const pattern = slashed && new RegExp(slashed[1], "i");
				const lower = text.toLowerCase();
				test = pattern ? (s) => pattern.test(s) : (s) => s.toLowerCase().includes(lower);
			} catch (problem) {
				get("matches").textContent = "not a regular expression";
				redraw();
				return;
			}
			const hit = data.strings.map(test);
			const under = new Uint8Array(nNodes); /* below a match: its bytes are counted already */
			let n = 0, sum = 0;
			matching = new Uint8Array(nNodes);
			for (let i = 1; i < nNodes; i++) {
				const above = under[parent[i]];
				matching[i] = hit[data.names[i - 1]] ? 1 : 0;
				under[i] = above | matching[i];
				n += matching[i];
				if (matching[i] && !above) sum += values[i];
			}
			get("matches").textContent = n ? `${n.toLocaleString("en-US")} frames match, ` +
				`${percent(sum, values[0])} of ${data.metrics[metric].name}` : "no frame matches";
		}
		redraw();
	}
	get("search").addEventListener("input", search);
	get("search").addEventListener("keydown", (event) => {
		if (event.key !== "Enter" || !matching) return;
		let best = 0;
		for (let i = 1; i < nNodes; i++)
			if (matching[i] && (!best || current()[i] > current()[best])) best = i;
		if (best) zoomTo(best);
	});
	get("reset").addEventListener("click", () => zoomTo(0));
	addEventListener("keydown", (event) => {
		if (event.key === "/" && document.activeElement !== get("search")) {
			event.preventDefault();
			get("search").focus();
		} else if (event.key === "Escape") {
			if (get("search").value) {
				get("search").value = "";
				search();
			} else {
				zoomTo(0);
			}
		}
	});

	/* ---- functions, with everything below them ---- */
	function showFunctions() {
		const rows = new Map(), body = get("functions");
		const values = current(), olds = isDiff ? column(metric, "old") : null, news = column(metric, "new");
		const onPath = new Map(); /* name → how often it is on the path to the current node */
		if (!get("panel").open) return;
		/* Depth first, so that a recursive function counts once. */
		const stack = [];
		for (let child = firstChild[0]; child >= 0; child = nextSibling[child]) stack.push(child);
		while (stack.length) {
			const at = stack.pop();
			if (at < 0) {
				const name = data.names[~at - 1];
				onPath.set(name, onPath.get(name) - 1);
				continue;
			}
			const name = data.names[at - 1];
			const row = rows.get(name) || { name, total: 0, change: 0 };
			rows.set(name, row);
			if (!onPath.get(name)) {
				row.total += values[at];
				if (isDiff) row.change += news[at] - olds[at];
			}
			onPath.set(name, (onPath.get(name) || 0) + 1);
			stack.push(~at);
			for (let child = firstChild[at]; child >= 0; child = nextSibling[child]) stack.push(child);
		}
		const sorted = [...rows.values()].filter((row) => row.total || row.change)
			.sort(isDiff ? (a, b) => Math.abs(b.change) - Math.abs(a.change) : (a, b) => b.total - a.total);
		const head = element("tr");
		for (const title of isDiff ? ["change", data.metrics[metric].name, "function"] : [data.metrics[metric].name, "share", "function"])
			head.append(element("th", title));
		get("thead").replaceChildren(head);
		body.replaceChildren();
		for (const row of sorted.slice(0, N_FUNCTIONS)) {
			const line = body.insertRow();
			if (isDiff) {
				const cell = line.insertCell();
				cell.append(element("span", signed(metric, row.change), row.change > 0 ? "up" : "down"));
				line.insertCell().textContent = figure(metric, row.total);
			} else {
				line.insertCell().textContent = figure(metric, row.total);
				line.insertCell().textContent = percent(row.total, values[0]);
			}
			line.insertCell().textContent = data.strings[row.name];
			line.addEventListener("click", () => {
				get("search").value = data.strings[row.name];
				search();
			});
		}
	}
	get("panel").addEventListener("toggle", () => { showFunctions(); redraw(); });

	/* ---- live bytes over time ---- */
	const line = get("timeline");
	let pointed = -1;
	function drawTimeline() {
		const pen = line.getContext("2d"), ratio = devicePixelRatio || 1;
		const w = line.clientWidth, h = line.clientHeight;
		const top = Math.max(...data.timelines.map((t) => t.peak), 1);
		const span = Math.max(...data.timelines.map((t) => t.time), 1);
		line.width = Math.round(w * ratio);
		line.height = Math.round(h * ratio);
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		data.timelines.forEach((timeline, index) => {
			const x = (time) => time / span * w, y = (value) => h - 2 - value / top * (h - 24);
			const isOld = index === 1;
			pen.beginPath();
			pen.moveTo(0, h);
			timeline.highest.forEach((value, i) => {
				const from = Math.min(i * timeline.width, timeline.time);
				const to = Math.min((i + 1) * timeline.width, timeline.time);
				pen.lineTo(x(from), y(value));
				pen.lineTo(x(to), y(value));
			});
			pen.lineTo(x(timeline.time), h);
			pen.closePath();
			pen.fillStyle = style("--area");
			if (!isOld) pen.fill();
			pen.strokeStyle = isOld ? style("--soft") : style("--area-line");
			pen.lineWidth = 1;
			pen.setLineDash(isOld ? [4, 3] : []);
			pen.stroke();
			pen.setLineDash([]);
			if (!isOld && timeline.peak) {
				pen.strokeStyle = style("--bad");
				pen.beginPath();
				pen.moveTo(x(timeline.peakTime), 20);
				pen.lineTo(x(timeline.peakTime), h);
				pen.stroke();
			}
		});
		const t = data.timelines[0];
		let text = t.peak ? `Live bytes over ${duration(t.time)}: peak ${bytes(t.peak)} after ${duration(t.peakTime)}`
			: "Nothing was live";
		if (isDiff) text += ` (OLD, dashed: ${bytes(data.timelines[1].peak)})`;
		if (pointed >= 0) {
			const slice = Math.min(Math.floor(pointed * span / t.width), t.highest.length - 1);
			text += `; at ${duration(pointed * span)}: ${bytes(pointed * span <= t.time ? t.highest[slice] : 0)}`;
		}
		get("caption").textContent = text;
	}
	line.addEventListener("mousemove", (event) => { pointed = event.offsetX / line.clientWidth; drawTimeline(); });
	line.addEventListener("mouseleave", () => { pointed = -1; drawTimeline(); });

	/* ---- the frame of the page ---- */
	function showTabs() {
		get("tabs").replaceChildren(...data.metrics.map((m, i) => {
			const tab = element("button");
			tab.setAttribute("role", "tab");
			tab.setAttribute("aria-selected", String(i === metric));
			tab.dataset.metric = m.name;
			tab.append(element("span", m.name, "name"));
			const value = element("span", figure(i, m.whole), "value");
			if (isDiff) {
				value.append(" ", element("span", growth(m.old, m.whole),
					"change " + (m.whole > m.old ? "up" : m.whole < m.old ? "down" : "")));
			}
			tab.append(value, element("span", m.text, "text"));
			tab.addEventListener("click", () => { metric = i; show(); });
			return tab;
		}));
	}
	function showLegend() {
		const items = isDiff ? [["grew", dark.matches ? "hsl(4 65% 42%)" : "hsl(4 85% 68%)"],
			["shrank", dark.matches ? "hsl(214 65% 42%)" : "hsl(214 85% 68%)"]]
			: [...hueOfModule].slice(0, 7).map(([module, hue]) =>
				[base(module), dark.matches ? `hsl(${hue} 38% 36%)` : `hsl(${hue} 72% 76%)`]);
		get("legend").replaceChildren(...items.map(([text, colour]) => {
			const item = element("span"), box = element("i");
			box.style.background = colour;
			item.append(box, text);
			return item;
		}));
	}
	function note(text, bad) {
		get("notes").append(element("div", text, bad ? "note bad" : "note"));
	}
	function show() {
		layout();
		showTabs();
		showLegend();
		search();
		zoomTo(width[zoom] ? zoom : 0);
		showFunctions();
		drawTimeline();
	}

	document.title = (isDiff ? "memstacks diff: " : "memstacks: ") + base(data.title.replace(/\/+$/, ""));
	get("title").textContent = isDiff ? `${data.oldTitle} → ${data.title}` : data.title +
		(data.benchmark ? ` — benchmark ${data.benchmark}` : "");
	for (const problem of data.problems) note("Partial recording: " + problem, true);
	if (data.pruned.nodes) {
		note(`${data.pruned.nodes.toLocaleString("en-US")} of ${data.pruned.all.toLocaleString("en-US")} frames ` +
			`are left out: each holds at most ${data.pruned.percent} % of every metric. ` +
			"What they did is part of their callers. --max-nodes keeps more.");
	}
	if (isDiff) {
		get("side").hidden = false;
		get("side").addEventListener("change", () => { side = get("side").value; show(); });
	}
	new ResizeObserver(() => { redraw(); drawTimeline(); }).observe(graph);
	dark.addEventListener("change", show);
	show();
}());
