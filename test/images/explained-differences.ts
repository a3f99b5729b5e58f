/** Where the trees of two builders may differ, each with its reason. */
export const explainedDifferences: readonly RegExp[] = [];
