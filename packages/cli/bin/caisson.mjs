#!/usr/bin/env node
import { fileURLToPath } from 'node:url';
import { main } from '../dist/bundle/index.js';

process.exitCode = await main(process.argv.slice(2), fileURLToPath(import.meta.url));
