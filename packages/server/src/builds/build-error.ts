import { type BuildError, CaissonError, type ErrorCode, isErrorCode } from '@caisson/contract';

/** Of what is kept of a failure, so much of each part. */
const maxMessage = 4_096;
const maxCommand = 2_048;
const maxLines = 40;
const maxLine = 500;

/** A failure as it is kept with the build. Text of a build is anybody's: what it has of control characters goes. */
export function buildError(error: CaissonError): BuildError {
  const { step, command, exitCode, lastLines } = error.context;
  const lines = Array.isArray(lastLines) ? lastLines : typeof lastLines === 'string' ? lastLines.split('\n') : [];
  return {
    code: error.code,
    message: clean(error.message).slice(0, maxMessage),
    step: typeof step === 'string' ? clean(step).slice(0, maxLine) : null,
    command: typeof command === 'string' ? clean(command).slice(0, maxCommand) : null,
    exitCode: typeof exitCode === 'number' && Number.isInteger(exitCode) ? exitCode : null,
    lastLines: lines.slice(-maxLines).map((line) => clean(String(line)).slice(0, maxLine)),
  };
}

/** The same as an error to throw, for whoever waited for the build. */
export function asThrown(error: BuildError, build: string): CaissonError {
  const { code, message, ...context } = error;
  const known: ErrorCode = isErrorCode(code) ? code : 'build_failed';
  const hint = known === 'build_failed' ? { hint: `\`caisson build logs ${build}\` has all of it.` } : {};
  return new CaissonError(known, message, { context: { build, ...context }, ...hint });
}

export function cancelled(message: string): BuildError {
  return { code: 'build_cancelled', message, step: null, command: null, exitCode: null, lastLines: [] };
}

function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it takes out.
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '\ufffd');
}
