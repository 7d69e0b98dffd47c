// The contract of row sinks for the backends that are servers; each gives itself in its own folder.
#include "sinks/rows/contract_cases.h"
