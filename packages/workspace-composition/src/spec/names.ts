import { matching, type TextRule } from './text.ts';

/**
 * The rules of short names. Every pattern begins with a letter or digit: a name that ends up on a command line can
 * never be taken for an option.
 */
const wordPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const wordGrammar = 'a name: a letter or digit, then letters, digits, `.`, `_` or `-`';

export const stepIdRule: TextRule = { noun: 'A step id', maxBytes: 64, check: matching(wordPattern, wordGrammar) };
export const harnessProfileRule: TextRule = {
  noun: 'A profile',
  maxBytes: 64,
  check: matching(wordPattern, wordGrammar),
};
export const releaseRule: TextRule = { noun: 'A release', maxBytes: 64, check: matching(wordPattern, wordGrammar) };

export const driverNameRule: TextRule = {
  noun: 'A driver name',
  maxBytes: 63,
  check: matching(/^[a-z][a-z0-9-]*$/, 'a driver name: a small letter, then small letters, digits or `-`'),
};

/** Names a stored secret. The secret itself never stands in a spec, which is stored and shown. */
export const secretRefRule: TextRule = {
  noun: 'A secret reference',
  maxBytes: 255,
  check: (text) =>
    /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/.test(text)
      ? undefined
      : {
          code: 'invalid_value',
          // What stands there may be the secret itself: it is not quoted.
          message: 'This is not the name of a stored secret.',
          hint: 'Store the secret and write its name here.',
        },
};

/** Wide enough for Debian epochs, `~bpo` suffixes and semver build parts; no operators, a version is exact. */
export const versionRule: TextRule = {
  noun: 'A version',
  maxBytes: 128,
  check: matching(
    /^[A-Za-z0-9][A-Za-z0-9.+:~^_-]*$/,
    'a version: a letter or digit, then letters, digits or `.+:~^_-`',
  ),
};

export const packageIdRule: TextRule = {
  noun: 'A package id',
  maxBytes: 128,
  check: matching(
    /^(?:@[A-Za-z0-9][A-Za-z0-9._-]*\/)?[A-Za-z0-9][A-Za-z0-9.+_:-]*$/,
    'a package id: a letter or digit, then letters, digits or `.+_:-`, after an optional `@scope/`',
  ),
};

export const envNameRule: TextRule = {
  noun: 'An environment name',
  maxBytes: 128,
  check: matching(/^[A-Za-z_][A-Za-z0-9_]*$/, 'an environment name: a letter or `_`, then letters, digits or `_`'),
};

export const envValueRule: TextRule = {
  noun: 'An environment value',
  maxBytes: 65_536,
  multiline: true,
  mayBeEmpty: true,
};

export const commandRule: TextRule = {
  noun: 'A command',
  maxBytes: 65_536,
  multiline: true,
  check: (text) =>
    text.trim() === '' ? { code: 'invalid_value', message: 'A command must not be blank.' } : undefined,
};

/** A registry reference, or `oci:`, `oci-archive:` or `docker-archive:` and a path on the server: told apart where it is resolved. */
export const imageReferenceRule: TextRule = {
  noun: 'An image reference',
  maxBytes: 512,
  check: matching(/^[^\s-]\S*$/, 'an image reference: no spaces, and no `-` at its beginning'),
};

export const labelKeyRule: TextRule = { noun: 'A label', maxBytes: 128 };
export const labelValueRule: TextRule = { noun: 'A label value', maxBytes: 1_024, mayBeEmpty: true };
export const contextLinkRule: TextRule = { noun: 'A context link', maxBytes: 512 };
