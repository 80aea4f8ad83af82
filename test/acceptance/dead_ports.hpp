// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "harness/immovable.hpp"

#include <cstdint>
#include <vector>

namespace tenure::test
{

/** A loopback port on which nothing listens: connections are refused. */
class ClosedPort
{
public:
    ClosedPort();
    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

private:
    std::uint16_t number_;
};

/** A loopback port on which connections are made, and nothing is ever read or answered. */
class MutePort : Immovable
{
public:
    explicit MutePort(int backlog = 128);
    ~MutePort();
    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

private:
    int listener_ = -1;
    std::uint16_t number_ = 0;
};

/** A loopback port whose queue of new connections is full: the kernel drops the first packet of all others. */
class SilentPort : Immovable
{
public:
    SilentPort();
    ~SilentPort();
    [[nodiscard]] std::uint16_t number() const noexcept { return port_.number(); }

private:
    MutePort port_{0};
    /// the connections that fill the queue
    std::vector<int> connections_;
};

} // namespace tenure::test
