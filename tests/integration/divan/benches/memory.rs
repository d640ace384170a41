//! Benchmarks whose allocations can be counted by hand; test_divan.c knows them by size.

fn main() {
    divan::main();
}

#[inline(never)]
fn build_boxes(n: usize) -> Vec<Box<[u8; 4099]>> {
    let mut boxes = Vec::with_capacity(n);
    for i in 0..n {
        boxes.push(divan::black_box(Box::new([i as u8; 4099])));
    }
    boxes
}

#[inline(never)]
fn join_words(n: usize) -> Vec<String> {
    (0..n).map(|_| "word ".repeat(400)).collect()
}

#[divan::bench]
fn boxes() -> Vec<Box<[u8; 4099]>> {
    build_boxes(1000)
}

#[divan::bench]
fn words() -> Vec<String> {
    join_words(300)
}
