import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';

/** What a browser has, and nothing of Node: no `process`, no `Buffer`, no `require`. */
const browserGlobals = {
  AbortController,
  AbortSignal,
  Headers,
  ReadableStream,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  clearTimeout,
  crypto,
  setTimeout,
};

test('the SDK runs where only a browser is', async () => {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'index.ts')],
    conditions: ['source'],
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'sdk',
    write: false,
  });
  const asked: string[] = [];
  const fetch = async (url: string) => {
    asked.push(url);
    return Response.json({ version: '1', api: 'v1' });
  };
  const page = createContext({ ...browserGlobals, fetch, location: { origin: 'https://page.example' } });
  runInContext(outputFiles[0]?.text ?? '', page);
  const answer = await runInContext('new sdk.Caisson().version()', page);
  expect(answer).toEqual({ version: '1', api: 'v1' });
  expect(asked).toEqual(['https://page.example/v1/version']);
});
