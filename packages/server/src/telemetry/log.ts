import { type Logger, pino } from 'pino';
import { LineOutput } from './line-output.ts';

export type { Logger } from 'pino';

/** Keys are never logged: what carries one is named here, wherever it appears. */
const secretPaths = [
  'req.headers.authorization',
  'req.headers["x-api-key"]',
  'secret',
  '*.secret',
  'apiKey',
  '*.apiKey',
];

const standardError = 2;

/** Structured lines on standard error: standard output belongs to whoever runs the server in front. */
export function createLogger(level: string, fd: number = standardError): Logger {
  return pino({ level, base: null, redact: { paths: secretPaths, censor: '[secret]' } }, new LineOutput(fd));
}
