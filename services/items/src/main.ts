import { runProcess } from '@gatehouse/server/process';
import { readItemsConfig } from './config.ts';
import { createItemsService } from './service.ts';

await runProcess('items', readItemsConfig, createItemsService);
