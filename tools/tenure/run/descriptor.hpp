// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <utility>

namespace tenure::tool
{

/** A descriptor that is closed with its owner. */
class Descriptor
{
public:
    Descriptor() noexcept = default;
    explicit Descriptor(int number) noexcept
        : number_(number)
    {
    }
    Descriptor(Descriptor const&) = delete;
    Descriptor(Descriptor&& other) noexcept
        : number_(std::exchange(other.number_, -1))
    {
    }
    Descriptor& operator=(Descriptor&& other) noexcept
    {
        close();
        number_ = std::exchange(other.number_, -1);
        return *this;
    }
    Descriptor& operator=(Descriptor const&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] int number() const noexcept { return number_; }
    void close() noexcept;

private:
    int number_ = -1;
};

struct PipePair {
    Descriptor read;
    Descriptor write;
};

/** A pipe that an exec closes. @throws std::system_error */
[[nodiscard]] PipePair make_pipe();

} // namespace tenure::tool
