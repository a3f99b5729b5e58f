/** How many times longer things may take here than on a real machine. What starts an emulated one sets it. */
export const slowness = Math.max(1, Number(process.env.CAISSON_TEST_SLOWNESS ?? 1));
