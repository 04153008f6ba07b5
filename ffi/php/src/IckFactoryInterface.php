<?php

declare(strict_types=1);

namespace Millpond;

/**
 * What makes Icks, whatever its connection.
 */
interface IckFactoryInterface
{
    /**
     * The Ick of this name. Makes no call.
     *
     * @param string $name any bytes, at most 64 KiB
     */
    public function ick(string $name): DirtyListInterface;
}
