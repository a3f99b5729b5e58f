/** What a registry asks for when it answers 401. */
export type Challenge =
  | { readonly scheme: 'basic' }
  | { readonly scheme: 'bearer'; readonly realm: string; readonly service?: string; readonly scope?: string };

/** The first challenge of a `WWW-Authenticate` that we can meet. */
export function parseChallenge(header: string): Challenge | undefined {
  const text = header.slice(0, 4096);
  const bearer = /(?:^|,\s*)bearer\s+(.*)$/i.exec(text);
  if (bearer) {
    const values = new Map(
      [...(bearer[1] ?? '').matchAll(/([a-z_]+)="([^"]*)"/gi)].map(([, key = '', value = '']) => [
        key.toLowerCase(),
        value,
      ]),
    );
    const realm = values.get('realm');
    const service = values.get('service');
    const scope = values.get('scope');
    if (realm) return { scheme: 'bearer', realm, ...(service ? { service } : {}), ...(scope ? { scope } : {}) };
  }
  return /(?:^|,\s*)basic\b/i.test(text) ? { scheme: 'basic' } : undefined;
}
