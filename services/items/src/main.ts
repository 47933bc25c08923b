import { runProcess } from '@gatehouse/kit/process';
import { readItemsConfig } from './config.ts';
import { createItemsService } from './service.ts';

await runProcess('items', readItemsConfig, createItemsService);
