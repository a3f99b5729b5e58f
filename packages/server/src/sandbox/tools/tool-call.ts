import {
  CaissonError,
  formatPath,
  isToolName,
  parseOrThrow,
  type ToolName,
  type ToolRequest,
  toolNames,
  tools,
} from '@caisson/contract';
import { requestHash } from '../../store/request-hash.ts';

/** A request that names a tool and fits it. */
export interface ToolCall {
  readonly tool: ToolName;
  readonly params: unknown;
  readonly request: ToolRequest;
  /** Tells whether another request with the same call id is the same one. */
  readonly hash: string;
}

/** Reads a request by the schema of its tool; says every fault of it, and which tools there are. */
export function readCall(request: ToolRequest): ToolCall {
  const { tool } = request;
  if (!isToolName(tool)) {
    throw new CaissonError(
      'tool_not_found',
      `there is no tool ${JSON.stringify(tool)}; there are ${toolNames.join(', ')}`,
      {
        context: { tools: toolNames },
      },
    );
  }
  const params = readParams(tool, request.params);
  if (request.resources !== undefined && !tools[tool].spawns) {
    throw refused('resources', `${tool} runs no program whose resources could be limited`);
  }
  const { callId: _, ...asked } = request;
  // Without what is undefined, which the canonical form has no word for. It was read by a schema, so it is not deep.
  const plain: unknown = JSON.parse(JSON.stringify({ ...asked, params }));
  return { tool, params, request, hash: requestHash(plain) };
}

function readParams(tool: ToolName, given: unknown): unknown {
  const params = within('params', () =>
    parseOrThrow(tools[tool].params, given, 'request_invalid', `what ${tool} takes`),
  );
  const { from, to, remote, branch } = params as Record<string, unknown>;
  if (tool === 'git_diff' && to !== undefined && from === undefined) throw refused('params.to', 'needs `from`');
  if (tool === 'git_pull' && branch !== undefined && remote === undefined) {
    throw refused('params.branch', 'needs `remote`');
  }
  return params;
}

/** The same error with the place of its problems in the whole request. */
function within<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CaissonError)) throw error;
    const problems = error.problems.map((problem) => ({
      ...problem,
      path: problem.path === formatPath([]) ? field : `${field}.${problem.path}`,
    }));
    throw new CaissonError(error.code, error.message, { problems, cause: error });
  }
}

function refused(path: string, message: string): CaissonError {
  return new CaissonError('request_invalid', `${path}: ${message}`, {
    problems: [{ path, code: 'invalid_value', message }],
  });
}
