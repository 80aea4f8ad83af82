// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/conformance/expect.hpp>

namespace tenure::test
{

using conformance::expect_failure;
using conformance::expect_not_sent;
using conformance::expect_refused;
using conformance::expect_unknown;

} // namespace tenure::test
