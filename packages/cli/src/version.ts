/** A constant and not read from package.json: `caisson version` opens no file. A test holds the two together. */
export const version = '0.1.0';
