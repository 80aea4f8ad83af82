// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/conformance/renewals.hpp>

namespace tenure::test
{

using conformance::LaterRenewReply;
using conformance::renew_one;
using conformance::renew_together;

} // namespace tenure::test
