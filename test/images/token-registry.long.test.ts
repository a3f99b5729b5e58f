import { createHash, createSign, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Shelf } from '../../packages/server/src/images/shelf.ts';
import { makeCertificates } from '../network/certificates.ts';
import { freshImages, imageOf, isRoot, removeScratch, scratchFolder, soon } from './images-folder.ts';
import { writeLayout } from './layout-writer.ts';
import { account, startRegistry } from './real-registry.ts';
import { file, tarOf } from './tar-writer.ts';

afterAll(removeScratch);

const [service, issuer] = ['our registry', 'our tokens'];
const { cert, key } = makeCertificates('tokens').of('tokens');

/** A token as the registry wants it: signed, and with the certificate of whoever signed. */
function tokenFor(scopes: readonly string[]): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const access = scopes.map((scope) => {
    const [type, name, actions = ''] = scope.split(':');
    return { type, name, actions: actions.split(',') };
  });
  const jti = createHash('sha256').update(scopes.join()).digest('hex');
  const claims = {
    iss: issuer,
    sub: account.username,
    aud: service,
    exp: now + 300,
    nbf: now - 60,
    iat: now,
    jti,
    access,
  };
  const head = { typ: 'JWT', alg: 'ES256', x5c: [new X509Certificate(cert).raw.toString('base64')] };
  const text = `${part(head)}.${part(claims)}`;
  const signature = createSign('SHA256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

test.runIf(isRoot)(
  'a registry that takes only tokens is published to, listed and pulled from with a password',
  async () => {
    const scratch = scratchFolder();
    const secret = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
    const tokens = createServer((request, response) => {
      if (request.headers.authorization !== secret) return response.writeHead(401).end();
      const scopes = new URL(request.url ?? '', 'http://x').searchParams.getAll('scope');
      return response.end(JSON.stringify({ token: tokenFor(scopes) }));
    });
    await new Promise<void>((listening) => tokens.listen(0, '127.0.0.1', listening));
    const realm = `http://127.0.0.1:${(tokens.address() as AddressInfo).port}/token`;
    const bundle = join(scratch, 'bundle.pem');
    writeFileSync(bundle, cert);
    const registry = await startRegistry(scratch, { token: { realm, service, issuer, bundle } });
    try {
      const credentials = { [registry.host]: account };
      const { images } = freshImages();
      const layout = writeLayout(join(scratch, 'layout'), [{ tar: tarOf([file('a', 'content')]) }]);
      const { digest } = await images.resolve(imageOf(layout), { signal: soon() });
      const shelf = new Shelf(images);
      const options = { signal: soon(), progress() {} };
      const one = images.access.reference(`${registry.host}/tokens/one:v1`);
      await expect(shelf.publish(digest, one, {}, options)).rejects.toMatchObject({ code: 'registry_failed' });
      expect(await shelf.publish(digest, one, credentials, options)).toMatchObject({ layers: { sent: 1 } });
      // From the other repository, which the token must allow too.
      const two = images.access.reference(`${registry.host}/tokens/two:v1`);
      expect(await shelf.publish(digest, two, credentials, options)).toMatchObject({ layers: { mounted: 1 } });
      const repository = await shelf.repository(one, credentials);
      expect(await repository.tags(10, undefined, soon())).toMatchObject({ tags: ['v1'] });
      const reference = imageOf(`${registry.host}/tokens/two:v1`);
      const { images: others } = freshImages();
      await expect(others.resolve(reference, { signal: soon() })).rejects.toMatchObject({ code: 'registry_failed' });
      expect((await others.resolve(reference, { signal: soon(), credentials })).layers).toHaveLength(1);
    } finally {
      await registry.stop();
      tokens.close();
    }
  },
  120_000,
);
