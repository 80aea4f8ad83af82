// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Boost.JSON as part of the library: its compiled library need not be installed.
#define TENURE_JSON_SOURCE
#include "json.hpp"
