import { createHmac, timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  attemptSummarySchema,
  idSchema,
  labelsSchema,
  leaseTermsSchema,
  nameSchema,
  networkRulesSchema,
  type Owner,
  ownerSchema,
  sameOwner,
  sandboxPolicySchema,
  sandboxSchema,
} from '@caisson/contract';
import { workspaceBlueprintSchema } from '@caisson/workspace-composition';
import { z } from 'zod';
import type { InstanceKey } from '../../drivers/driver.ts';

/** Engines carry all labels of all containers in one answer; what is larger than this has no papers. */
const maxLabelLength = 64 * 1024;
/** Far above what fits into a label, and below what would hold anybody up. */
const maxTextLength = 1024 * 1024;

const papersLabel = 'caisson.papers';

const papersSchema = z.strictObject({
  sandbox: idSchema('sandbox'),
  incarnation: z.int().min(1),
  driver: z.string(),
  host: z.string(),
  owner: ownerSchema,
  name: nameSchema.nullable(),
  slot: z.string().nullable(),
  profile: sandboxSchema.shape.profile,
  labels: labelsSchema,
  persistence: sandboxSchema.shape.persistence,
  notices: z.array(z.string()),
  policy: sandboxPolicySchema,
  lease: leaseTermsSchema,
  createdAt: z.int(),
  expiresAt: z.int().nullable(),
  attempt: z.strictObject({
    id: idSchema('attempt'),
    action: attemptSummarySchema.shape.action,
    spec: z.unknown(),
    resolvedSpec: z.unknown(),
    blueprint: workspaceBlueprintSchema,
    blueprintDigest: z.string(),
  }),
  image: z.strictObject({ digest: z.string(), env: z.record(z.string(), z.string()) }).nullable(),
  rules: networkRulesSchema.nullable(),
});

/** What an instance carries of its record, as it was when it was launched: enough to make one again. */
export type SandboxPapers = z.infer<typeof papersSchema>;

/**
 * Seals and reads papers. An engine's labels can be written by whoever may use the engine, so only what this installation
 * has sealed counts, and only on the instance that it was sealed for.
 */
export class Papers {
  readonly #installation: string;
  readonly #secret: Buffer;

  constructor({ id, secret }: { readonly id: string; readonly secret: Buffer }) {
    this.#installation = id;
    this.#secret = secret;
  }

  /** None where they would be too large: such a sandbox cannot be adopted. */
  labels(papers: SandboxPapers): Record<string, string> {
    const text = JSON.stringify(papers);
    if (text.length > maxTextLength) return {};
    const packed = deflateRawSync(text).toString('base64url');
    const label = `1.${this.#seal(packed).toString('base64url')}.${packed}`;
    return label.length > maxLabelLength ? {} : { [papersLabel]: label };
  }

  /** Undefined for what is absent, forged, of another instance, or not what papers are by now. */
  read(
    labels: Readonly<Record<string, string>>,
    { key, owner, driver }: { readonly key: InstanceKey; readonly owner: Owner; readonly driver: string },
  ): SandboxPapers | undefined {
    const label = Object.hasOwn(labels, papersLabel) ? (labels[papersLabel] ?? '') : '';
    const [, version, seal = '', packed = ''] = /^(\d+)\.([\w-]+)\.([\w-]+)$/.exec(label) ?? [];
    if (version !== '1' || label.length > maxLabelLength) return undefined;
    const [given, own] = [Buffer.from(seal, 'base64url'), this.#seal(packed)];
    if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
    const { data: papers } = papersSchema.safeParse(unpack(packed));
    if (papers?.sandbox !== key.sandbox || papers.incarnation !== key.incarnation) return undefined;
    return papers.driver === driver && sameOwner(papers.owner, owner) ? papers : undefined;
  }

  #seal(packed: string): Buffer {
    return createHmac('sha256', this.#secret).update(`papers ${this.#installation} ${packed}`).digest();
  }
}

function unpack(packed: string): unknown {
  try {
    return JSON.parse(
      inflateRawSync(Buffer.from(packed, 'base64url'), { maxOutputLength: 2 * maxTextLength }).toString(),
    );
  } catch {
    return undefined;
  }
}
