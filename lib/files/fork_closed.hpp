// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <vector>

namespace tenure
{

/** Closes a descriptor in every child that this process forks: the life of such a descriptor says that this process
 *  lives. In the child the number then refers to /dev/null, so that its owner may still close it. */
class ForkClosed
{
public:
    explicit ForkClosed(int number);
    ForkClosed(ForkClosed const&) = delete;
    ForkClosed& operator=(ForkClosed const&) = delete;
    ~ForkClosed();

private:
    int number_;
};

/** All descriptors that such objects have. Thread-safe. */
[[nodiscard]] std::vector<int> fork_closed_descriptors();

} // namespace tenure
