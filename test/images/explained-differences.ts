/** Where the trees of two builders may differ, each with its reason. */
export const explainedDifferences: readonly RegExp[] = [
  // The times and numbers of files, by which git sees what has changed.
  /\/\.git\/index$/,
];
