// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

namespace tenure::test
{

/** Base of objects that others point to, or that own a process, a thread or a socket: neither copied nor moved. */
class Immovable
{
public:
    Immovable() = default;
    Immovable(Immovable const&) = delete;
    Immovable& operator=(Immovable const&) = delete;
};

} // namespace tenure::test
