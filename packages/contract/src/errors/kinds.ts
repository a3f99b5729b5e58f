/** HTTP status and CLI exit code of each kind. Exit codes below 64 are left to commands run in a sandbox. */
export const errorKinds = {
  invalid: { status: 400, exitCode: 65, means: 'the request is wrong and stays wrong' },
  unauthenticated: { status: 401, exitCode: 77, means: 'no key, or not a valid one' },
  forbidden: { status: 403, exitCode: 77, means: 'the key may not do this' },
  not_found: { status: 404, exitCode: 66, means: 'there is no such thing, or it is not yours' },
  conflict: { status: 409, exitCode: 73, means: 'the request does not fit the present state' },
  gone: { status: 410, exitCode: 66, means: 'it existed and has ended' },
  limit: { status: 429, exitCode: 75, means: 'a limit has been reached' },
  payment: { status: 402, exitCode: 78, means: 'there are not enough credits' },
  not_supported: { status: 501, exitCode: 69, means: 'the backend does not have this ability' },
  failed: { status: 502, exitCode: 70, means: 'a component under Caisson failed' },
  unavailable: { status: 503, exitCode: 75, means: 'Caisson or a component is not there at the moment' },
  timeout: { status: 504, exitCode: 75, means: 'it took longer than it may' },
  internal: { status: 500, exitCode: 70, means: 'a defect of Caisson' },
} as const;

export type ErrorKind = keyof typeof errorKinds;

export interface ErrorRow {
  readonly kind: ErrorKind;
  /** Only where the kind's status would mislead a client. */
  readonly status?: number;
  readonly retryable: boolean;
  readonly title: string;
  readonly hint: string;
}

export function row(
  kind: ErrorKind,
  title: string,
  hint: string,
  extra: { retryable?: true; status?: number } = {},
): ErrorRow {
  return { kind, title, hint, retryable: extra.retryable ?? false, ...(extra.status ? { status: extra.status } : {}) };
}

export const later = { retryable: true } as const;
