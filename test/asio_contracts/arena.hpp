// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <boost/asio/bind_allocator.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>

namespace tenure::test
{

/** Memory that ends with this object: a block that is freed later is a use of freed memory, which ASan reports. */
class Arena : public std::pmr::memory_resource
{
public:
    [[nodiscard]] std::size_t blocks() const noexcept { return blocks_; }
    [[nodiscard]] std::size_t unfreed() const noexcept { return unfreed_; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void* const block = pool_.allocate(bytes, alignment);
        ++blocks_;
        ++unfreed_;
        return block;
    }
    void do_deallocate(void*, std::size_t, std::size_t) override { --unfreed_; }
    [[nodiscard]] bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }

    std::pmr::monotonic_buffer_resource pool_;
    std::size_t blocks_ = 0;
    std::size_t unfreed_ = 0;
};

/** The arena of one operation, whose handler destroys it. */
class OperationArena
{
public:
    /** The operation's handler. */
    auto handler()
    {
        auto end = [this](auto&&...) {
            REQUIRE(arena_);
            blocks_ = arena_->blocks();
            unfreed_ = arena_->unfreed();
            arena_.reset();
        };
        return boost::asio::bind_allocator(std::pmr::polymorphic_allocator<std::byte>(arena_.get()), end);
    }

    [[nodiscard]] bool ended() const noexcept { return !arena_; }

    /** Checks that the operation took at least this many blocks, and that the handler found all of them free. */
    void check(std::size_t at_least) const
    {
        REQUIRE(ended());
        CHECK(blocks_ >= at_least);
        CHECK(unfreed_ == 0);
    }

private:
    std::unique_ptr<Arena> arena_ = std::make_unique<Arena>();
    /// when the handler ran
    std::size_t blocks_ = 0;
    std::size_t unfreed_ = 0;
};

} // namespace tenure::test
