/** Builds the program for this machine (and others where their compilers are); gives its path. */
export function buildGuest(options?: { readonly quiet?: boolean }): string;
/** `asan`, `debug`, `test`, `fuzz` or `bare-spawn`; gives its path. */
export function buildVariant(variant: string, options?: { readonly quiet?: boolean }): string;
export function nativePath(variant?: string, arch?: string): string;
