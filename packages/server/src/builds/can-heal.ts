import type { CaissonError } from '@caisson/contract';

/** Codes with which the network and name servers fail. */
const networkCodes =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_\w+)$/;

/** How apt, curl and npm say that the network failed them, and not that what they were asked for does not exist. */
const networkWords =
  /Temporary failure resolving|Could not (?:resolve|connect)|Connection (?:failed|timed out|refused|reset)|Unable to connect|Hash Sum mismatch|curl: \((?:5|6|7|18|28|35|52|55|56)\)|npm (?:ERR!|error) (?:network|code (?:ECONNRESET|ETIMEDOUT|EAI_AGAIN|ECONNREFUSED))|50[234] {1,2}(?:Bad Gateway|Service Unavailable|Gateway)/i;

/** How they say that a proxy refused: rules do not change by themselves. */
const refusedWords = /Refused by Caisson|CONNECT tunnel failed, response 4\d\d/;

/** Steps that only fetch and install, whose commands are ours. */
const ownSteps = /^(?:packages$|harness-)/;

/**
 * Whether the same build may succeed later without anybody changing anything: the network, a mirror, a registry. A
 * command of the spec that failed has failed.
 */
export function canHeal(error: CaissonError): boolean {
  if (error.retryable) return true;
  const { step, lastLines, status } = error.context;
  if (error.code === 'build_failed' && typeof step === 'string' && ownSteps.test(step)) {
    const lines = Array.isArray(lastLines) ? lastLines.join('\n') : String(lastLines ?? '');
    return networkWords.test(lines) && !refusedWords.test(lines);
  }
  if (error.code !== 'registry_failed') return false;
  return hasNetworkCause(error) || (typeof status === 'number' && (status >= 500 || status === 429));
}

function hasNetworkCause(error: Error): boolean {
  let cause: unknown = error.cause;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string' && networkCodes.test(code)) return true;
    cause = cause.cause;
  }
  return false;
}
