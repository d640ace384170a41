// Benchmarks whose allocations can be counted by hand; test_tinybench.c knows them by size.
import { withCodSpeed } from "@codspeed/tinybench-plugin";
import { Bench } from "tinybench";

function buildBuffers() {
	const buffers = [];
	for (let i = 0; i < 100; i++)
		buffers.push(Buffer.alloc(70001));
	return buffers;
}

function buildArrays() {
	const arrays = [];
	for (let i = 0; i < 40; i++)
		arrays.push(new Float64Array(10007));
	return arrays;
}

const bench = withCodSpeed(new Bench({ iterations: 1, time: 1, warmup: false }));
bench.add("buffers", buildBuffers);
bench.add("arrays", buildArrays);
await bench.run();
