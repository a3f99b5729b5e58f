import { bashTool } from './bash-tool.ts';
import { fileTools } from './file-tools.ts';
import { gitTools } from './git-tools.ts';
import { searchTools } from './search-tools.ts';
import type { ToolWorks } from './tool.ts';

/** What each tool of the table does. */
export const toolWorks: ToolWorks = { ...fileTools, ...searchTools, ...gitTools, ...bashTool };
