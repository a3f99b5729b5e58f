import type { MessageDef } from '../protocol/field.ts';
import { define, renderMessage } from '../protocol/render-header.ts';
import { hostFailed, hostOperations, hostOutputMax, hostRequestMax, hostTasksMax } from './host-messages.ts';

/** The C header of the host program, from the same tables; `native/host/host-protocol.h` is its checked-in output. */
export function renderHostHeader(): string {
  const found = new Map<string, MessageDef>([[hostFailed.name, hostFailed]]);
  for (const { params, result } of Object.values(hostOperations)) {
    found.set(params.name, params);
    found.set(result.name, result);
  }
  return [
    '/* Generated from packages/guest/src/host by renderHostHeader(); do not edit. */',
    '#ifndef CAISSON_HOST_PROTOCOL_H',
    '#define CAISSON_HOST_PROTOCOL_H',
    '',
    '#include "../protocol.h"',
    '',
    define('host_request_max', `${hostRequestMax}`),
    define('host_output_max', `${hostOutputMax}`),
    define('host_tasks_max', `${hostTasksMax}`),
    ...Object.entries(hostOperations).map(([name, { number }]) => define(`host_op_${name}`, `${number}`)),
    '',
    ...[...found.values()].flatMap(renderMessage),
    '#endif',
    '',
  ].join('\n');
}
