// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::test
{

/// a user of keys that begin with "P"; docs/integrators/redis-protocol.md promises that this is enough
inline constexpr char const* minimal_user =
    "user worker on >secret resetchannels -@all +eval +evalsha +get +mget +exists +set +del +pexpire "
    "+pttl +incr +time +multi +exec ~P* ~tenure:fence";

} // namespace tenure::test
